package import HoldfastCore

/// Who belongs to a zone, as the record says it.
package struct Membership: Sendable, Equatable {
  package let id: String
  package let zone: String
  package let user: String
  package let name: String
  package let role: Role
}
