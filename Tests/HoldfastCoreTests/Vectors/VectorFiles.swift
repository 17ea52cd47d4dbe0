import Foundation
import HoldfastCore

/// The files of `Tests/Vectors`: inputs and results of the pure functions that every client must share with the server.
enum VectorFiles {
  /// A file: what it is about, and its cases, one a line.
  struct File {
    let name: String
    let about: String
    let cases: [JSONValue]

    /// The text of the file. It is ASCII, so that no editor and no terminal changes it.
    var text: String {
      let head = "{\"about\": \(VectorFiles.ascii(.string(about))),\n\"cases\": [\n"
      return head + cases.map(VectorFiles.ascii).joined(separator: ",\n") + "\n]}\n"
    }
  }

  static let all: [File] = [
    File(
      name: "merges", about: "Merging two edits of one column: docs/PROTOCOL.md, section 5.1.",
      cases: MergeVectors.cases),
    File(
      name: "texts",
      about: "Tokens of a text, and the stretches in which two texts differ: docs/PROTOCOL.md, section 5.1.",
      cases: TextVectors.cases),
    File(
      name: "positions", about: "Places in ordered lists: docs/POSITIONS.md.", cases: PositionVectors.cases),
    File(
      name: "stamps", about: "Hybrid logical clocks, timestamps and ids: docs/PROTOCOL.md, section 1.",
      cases: StampVectors.cases),
    File(
      name: "chains", about: "Fingerprints, chains and digests: docs/PROTOCOL.md, sections 3 and 7.",
      cases: ChainVectors.cases),
    File(
      name: "json",
      about: "Strict reading of JSON, and the bytes of what is written: docs/CLIENTS.md, section 4.",
      cases: JSONVectors.cases),
    File(
      name: "values",
      about: "Values that a column takes, or why it refuses them: docs/PROTOCOL.md, section 1.",
      cases: ValueVectors.cases),
  ]

  static func path(of name: String) -> URL {
    URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../Vectors/\(name).json").standardized
  }

  /// Compact JSON with everything beyond ASCII escaped.
  static func ascii(_ value: JSONValue) -> String {
    String(decoding: value.bytes, as: UTF8.self).unicodeScalars.reduce(into: "") { text, scalar in
      if scalar.value < 0x7F { return text.unicodeScalars.append(scalar) }
      for unit in UTF16.encode(scalar) ?? UTF16.EncodedScalar() {
        let digits = String(unit, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      }
    }
  }

  /// 64 bits as the 16 hex digits in which the files have them.
  static func hexadecimal(_ word: UInt64) -> JSONValue {
    .string(Fingerprint(value: word).text)
  }

  static func json(_ value: Value) -> JSONValue {
    switch value {
    case .null: .null
    case .integer(let number): .integer(number)
    case .real(let number): .real(number)
    case .text(let text): .string(text)
    }
  }
}
