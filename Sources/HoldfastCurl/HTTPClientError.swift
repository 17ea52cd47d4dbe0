/// The reason why there is no complete answer.
package struct HTTPClientError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of failure.
  package struct Code: Sendable, Hashable {
    private let name: String

    /// The request was cancelled.
    package static let cancelled = Code(name: "cancelled")
    /// The request is malformed and was not sent.
    package static let invalidRequest = Code(name: "invalidRequest")
    /// The answer exceeds the client's limit.
    package static let tooLarge = Code(name: "tooLarge")
    /// The connection failed, timed out or broke, or the answer is no HTTP.
    package static let failed = Code(name: "failed")
  }

  /// The kind of failure.
  package let code: Code
  /// libcurl's message, for people.
  package let description: String
}
