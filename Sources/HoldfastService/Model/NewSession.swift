package import HoldfastCore

/// A device that has just been given a token.
package struct NewSession: Sendable, Equatable {
  package let user: String
  package let userName: String
  package let device: String
  package let deviceName: String
  /// Counts the sessions of the device, from 1.
  package let number: Int64
  /// Of a device that is a copy: the last change sets of the one that it is a copy of.
  package var applied: AppliedChangeSets?
}
