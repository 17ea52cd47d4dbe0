extension String {
  /// The text as one part of a path, or as the value of a query. Source: RFC 3986, section 2.3.
  var percentEncoded: String {
    utf8.map { byte in
      switch UnicodeScalar(byte) {
      case "a"..."z", "A"..."Z", "0"..."9", "-", ".", "_", "~": String(UnicodeScalar(byte))
      default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      }
    }.joined()
  }
}
