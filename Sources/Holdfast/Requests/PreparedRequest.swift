import HoldfastCore

/// A request of `POST /v1/sync`, and what must be remembered of it until its answer is applied.
package struct PreparedRequest: Sendable {
  let body: [UInt8]
  let device: String
  let token: String
  /// Up to where the answers were dealt with.
  let acknowledgedRefusals: Int64
  let acks: [SyncRequest.Ack]
  /// How many operations it carries, how many wait in all, and how many change sets it carries.
  let operations: Int
  let waiting: Int
  let changeSets: Int
  /// The device's fingerprint up to its first change set; nil when it has none.
  let oldest: String?
  /// The numbers of what it recovers.
  var recovered: [Int64] = []
  /// What it says of zones that the server asked for.
  var claims: [RecoveryClaim] = []

  /// How many change sets it has, or records that are recovered.
  var items: Int { changeSets + recovered.count }
}
