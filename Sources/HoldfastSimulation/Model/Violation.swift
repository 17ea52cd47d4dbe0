/// A violated invariant, with the details for its investigation.
struct Violation: Hashable, Sendable, CustomStringConvertible {
  /// "I1" to "I12".
  let invariant: String
  let text: String

  var description: String { "\(invariant): \(text)" }
}
