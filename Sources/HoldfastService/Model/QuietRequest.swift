package import HoldfastCore

/// A sync request without writes or acks. Contains every part of the request that affects the answer, besides the database and the time.
package struct QuietRequest: Equatable, Sendable {
  private let digest: String
  private let proof: String
  private let acknowledgedRefusals: Int64
  private let client: ClientVersion?
  private let unproven: [String]

  /// The quiet part of a request; nil for a request with acks or writes.
  package init?(_ request: SyncRequest) {
    guard !request.isWriting, !request.isComplete, request.acks.isEmpty else { return nil }
    digest = request.digest
    proof = request.proof
    acknowledgedRefusals = request.acknowledgedRefusals
    client = request.client
    unproven = request.unproven
  }
}
