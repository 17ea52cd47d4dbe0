extension String {
  /// The text as one part of a path, or as the value of a query: all but the unreserved characters are percent-encoded. Source: RFC 3986, section 2.3.
  package var percentEncoded: String {
    // So are the ids that devices make.
    if utf8.allSatisfy(Self.isUnreserved) { return self }
    return utf8.map { byte in
      Self.isUnreserved(byte)
        ? String(UnicodeScalar(byte))
        : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }.joined()
  }

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch UnicodeScalar(byte) {
    case "a"..."z", "A"..."Z", "0"..."9", "-", ".", "_", "~": true
    default: false
    }
  }
}
