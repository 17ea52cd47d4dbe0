import Foundation
import Testing

/// Reads the sources of the product. Those who write `Set(texts)` or use a `[String: …]` are told by the compiler, by the declarations of
/// ByteComparison.swift; this test finds what the compiler can't: a spelled type that nobody looks into, and a module without that file.
@Suite("Keys in the sources")
struct SourceTextTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// Where a text may be the key of a dictionary of the standard library, and why.
  private static let allowed = [
    "HoldfastSimulation/Model/JSONMembers.swift": "what Foundation reads of JSON, copied at once"
  ]

  private static func sources() throws -> [(path: String, text: String)] {
    let folder = root.appendingPathComponent("Sources")
    let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter {
      $0.hasSuffix(".swift")
    }
    return try files.map { ($0, try String(contentsOf: folder.appendingPathComponent($0), encoding: .utf8)) }
  }

  @Test("no dictionary and no set of the standard library is keyed by texts (I4, I10)")
  func spelledTypes() throws {
    let forms = try Regex(
      #"\[\[?(String|Substring)\??\]? ?: ?[A-Z\[(]|(Set|Dictionary)<\[?(String|Substring)|NSMutableDictionary|NSDictionary"#
    )
    let sources = try Self.sources()
    #expect(sources.count > 400)
    var found: [String] = []
    for (path, text) in sources where !path.hasSuffix("ByteComparison.swift") {
      for line in text.split(separator: "\n") {
        let code = line.prefix(upTo: line.firstRange(of: "//")?.lowerBound ?? line.endIndex)
        if code.contains(forms), Self.allowed[path] == nil { found.append("\(path): \(line)") }
      }
    }
    #expect(found == [], "Use TextMap and TextSet, or name the file and the reason here.")
  }

  @Test("every module compares texts by their bytes")
  func modules() throws {
    let folder = Self.root.appendingPathComponent("Sources")
    let all = try Self.sources().map(\.path)
    let modules = Set(all.compactMap { $0.split(separator: "/").first })
    let whole = try Data(contentsOf: folder.appendingPathComponent("HoldfastCore/Text/ByteComparison.swift"))
    for module in modules where module != "HoldfastCore" {
      let link = all.first { $0.hasPrefix("\(module)/") && $0.hasSuffix("/ByteComparison.swift") }
      let copy = try link.map { try Data(contentsOf: folder.appendingPathComponent($0)) }
      #expect(copy == whole, "Sources/\(module) needs a link to HoldfastCore/Text/ByteComparison.swift.")
    }
  }
}
