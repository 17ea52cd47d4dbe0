package import HoldfastCore

/// A user's membership of a zone, as its record states it.
package struct Membership: Sendable, Equatable {
  package let id: String
  package let zone: String
  package let user: String
  package let name: String
  package let role: Role
}
