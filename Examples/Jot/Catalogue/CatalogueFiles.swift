import Foundation
import Holdfast

/// A record of the catalogue as the files of iso-codes have it.
struct CatalogueEntry: Sendable {
  let code: String
  /// Texts by the names of the columns, the code included.
  let texts: [String: String]
  /// Codes of other entries by the names of the reference columns, and the tables that they are in.
  let references: [String: (table: String, code: String)]
}

/// The files of Debian's package iso-codes: /usr/share/iso-codes/json.
struct CatalogueFiles {
  let folder: URL

  init(folder: String) { self.folder = URL(filePath: folder) }

  /// The tables in the order in which references are kept: what is referred to comes first.
  func tables() throws -> [(name: String, entries: [CatalogueEntry])] {
    let countries = try read("iso_3166-1")
    let codes = Set(countries.compactMap { $0["alpha_2"] })
    return [
      ("countries", countries.map { entry($0, code: "alpha_2", ["code3": "alpha_3"]) }),
      ("languages", try read("iso_639-3").map { entry($0, code: "alpha_3", ["code2": "alpha_2"]) }),
      ("subdivisions", try subdivisions()),
      ("currencies", try read("iso_4217").map { currency($0, countries: codes) }),
    ]
  }

  private func subdivisions() throws -> [CatalogueEntry] {
    let all = try read("iso_3166-2")
    let codes = Set(all.compactMap { $0["code"] })
    let entries = all.map { fields in
      let country = String((fields["code"] ?? "").prefix(2))
      var references = ["country_id": (table: "countries", code: country)]
      // Most parents are named without their country: "BY" for "DE-BY".
      if let parent = fields["parent"],
        let code = [parent, "\(country)-\(parent)"].first(where: codes.contains)
      {
        references["parent_id"] = (table: "subdivisions", code: code)
      }
      return entry(fields, code: "code", [:], references)
    }
    return parentsFirst(entries)
  }

  private func parentsFirst(_ entries: [CatalogueEntry]) -> [CatalogueEntry] {
    var placed: Set<String> = []
    var sorted: [CatalogueEntry] = []
    var rest = entries
    while !rest.isEmpty {
      let ready = rest.filter { $0.references["parent_id"].map { placed.contains($0.code) } ?? true }
      // A circle of parents would be an error of the files; nothing of it can be placed.
      if ready.isEmpty { break }
      sorted += ready
      placed.formUnion(ready.map(\.code))
      rest.removeAll { placed.contains($0.code) }
    }
    return sorted
  }

  /// A currency's first two letters are a country's code, when it belongs to one.
  private func currency(_ fields: [String: String], countries: Set<String>) -> CatalogueEntry {
    let country = String((fields["alpha_3"] ?? "").prefix(2))
    return entry(
      fields, code: "alpha_3", [:],
      countries.contains(country) ? ["country_id": (table: "countries", code: country)] : [:])
  }

  private func entry(
    _ fields: [String: String], code: String, _ renamed: [String: String],
    _ references: [String: (table: String, code: String)] = [:]
  ) -> CatalogueEntry {
    var texts = fields.filter { !["alpha_2", "alpha_3", "parent", "bibliographic"].contains($0.key) }
    for (column, field) in renamed { texts[column] = fields[field] }
    texts["code"] = fields[code]
    return CatalogueEntry(code: fields[code] ?? "", texts: texts, references: references)
  }

  /// Reads a file: an object with one array of flat objects of texts.
  private func read(_ name: String) throws -> [[String: String]] {
    let file = folder.appending(path: "\(name).json")
    guard let data = FileManager.default.contents(atPath: file.path) else {
      throw Failure(
        .data, "\(file.path) can't be read. Debian's package iso-codes has it, in /usr/share/iso-codes/json.")
    }
    guard let entries = (try? JSONValue(parsing: Array(data)))?.members?.first?.value.elements else {
      throw Failure(.data, "\(file.path) has another form than iso-codes' files.")
    }
    return entries.map { entry in
      let texts = (entry.members ?? []).compactMap { member in
        member.value.stringValue.map { (member.name, $0) }
      }
      return Dictionary(texts) { first, _ in first }
    }
  }
}
