package import HoldfastCore

/// A session that has just begun, with a new token.
package struct NewSession: Sendable, Equatable {
  package let user: String
  package let userName: String
  package let device: String
  package let deviceName: String
  /// The session's number on the device, from 1.
  package let number: Int64
  /// For a device that is a copy: the latest applied change sets of the original device.
  package var applied: AppliedChangeSets?
}
