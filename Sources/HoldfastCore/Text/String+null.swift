extension String {
  /// Whether it contains U+0000. No branch depends on a byte, so the compiler makes it look at many at once.
  var hasNull: Bool {
    var text = self
    return text.withUTF8 { bytes in bytes.reduce(1) { min($0, $1) } == 0 }
  }
}
