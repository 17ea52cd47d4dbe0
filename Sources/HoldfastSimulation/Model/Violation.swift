/// A broken promise of the product: which invariant, and all that a reader needs to look into it.
struct Violation: Hashable, Sendable, CustomStringConvertible {
  /// "I1" to "I12".
  let invariant: String
  let text: String

  var description: String { "\(invariant): \(text)" }
}
