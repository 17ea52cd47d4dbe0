extension Int {
  /// The number with its noun: `1 item`, `2 items`.
  func of(_ noun: String) -> String { "\(self) \(noun)\(self == 1 ? "" : "s")" }
}
