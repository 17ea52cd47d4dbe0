extension String {
  /// The text as it is safe to show on a terminal. Control characters, including line breaks, and bidirectional controls are escaped, as in
  /// `\u{202E}`. Other users' texts must neither control the terminal nor disguise themselves.
  package var shown: String {
    guard unicodeScalars.contains(where: \.isUnshown) else { return self }
    return unicodeScalars.reduce(into: "") { text, scalar in
      if scalar.isUnshown {
        text += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
      } else {
        text.unicodeScalars.append(scalar)
      }
    }
  }
}

extension Unicode.Scalar {
  /// Whether a terminal would interpret it instead of showing it. Source: Unicode Standard Annex 9, sections 2.1 to 2.6.
  var isUnshown: Bool {
    switch value {
    case 0..<0x20, 0x7F..<0xA0: true
    case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: true
    default: false
    }
  }
}
