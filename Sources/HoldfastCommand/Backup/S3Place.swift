import HoldfastCore

/// A bucket of an S3-compatible store, and a prefix of names in it: `s3://BUCKET/PREFIX`.
struct S3Place {
  static let scheme = "s3://"

  let bucket: String
  /// Empty, or with a slash at its end.
  let prefix: String

  /// - Throws: `UsageError` for a text that is no such place.
  init(_ text: String) throws(UsageError) {
    let parts = text.dropFirst(Self.scheme.count).split(separator: "/", omittingEmptySubsequences: false)
    let bucket = parts.first ?? ""
    let folders = parts.dropFirst().last == "" ? parts.dropFirst().dropLast() : parts.dropFirst()
    guard text.hasPrefix(Self.scheme), (3...63).contains(bucket.utf8.count),
      bucket.utf8.allSatisfy(Self.isOfBucket)
    else {
      throw UsageError(
        "\(text) is no place of backups: say s3://BUCKET/PREFIX. A bucket has 3 to 63 of a-z, 0-9, \".\" and \"-\"."
      )
    }
    // A proxy may take "a/../b" for "b".
    guard folders.allSatisfy({ !["", ".", ".."].contains($0) }), text.utf8.count <= 900 else {
      throw UsageError(
        "\(text) has an empty part, \".\" or \"..\", or more than 900 bytes. Name another prefix.")
    }
    self.bucket = String(bucket)
    prefix = folders.map { "\($0)/" }.joined()
  }

  /// The place and the name of a backup: `s3://BUCKET/PREFIX/NAME`.
  ///
  /// - Throws: `UsageError`.
  static func split(_ text: String) throws(UsageError) -> (place: S3Place, name: String) {
    let slash = text.lastIndex(of: "/") ?? text.startIndex
    let name = String(text[slash...].dropFirst())
    guard text[..<slash].utf8.count > scheme.utf8.count, !name.isEmpty else {
      throw UsageError("\(text) names no backup: say s3://BUCKET/PREFIX/NAME.")
    }
    return (try S3Place(String(text[..<slash])), name)
  }

  /// The name of a backup with that of the place.
  func path(of name: String) -> String { "\(Self.scheme)\(bucket)/\(prefix)\(name)" }

  private static func isOfBucket(_ byte: UInt8) -> Bool {
    (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x2D || byte == 0x2E
  }
}
