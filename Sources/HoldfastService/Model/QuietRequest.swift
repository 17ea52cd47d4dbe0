package import HoldfastCore

/// A request that says nothing but where its device stands: all in it that its answer depends on, besides the database and the time.
package struct QuietRequest: Equatable, Sendable {
  private let digest: String
  private let proof: String
  private let acknowledgedRefusals: Int64
  private let client: ClientVersion?
  private let unproven: [String]

  /// The quiet part of a request; nil for one that brings acks or anything to be written.
  package init?(_ request: SyncRequest) {
    guard !request.isWriting, !request.isComplete, request.acks.isEmpty else { return nil }
    digest = request.digest
    proof = request.proof
    acknowledgedRefusals = request.acknowledgedRefusals
    client = request.client
    unproven = request.unproven
  }
}
