/// Why no whole answer came.
package struct HTTPClientError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What a program can tell apart.
  package struct Code: Sendable, Hashable {
    private let name: String

    /// Nobody wants the answer any more.
    package static let cancelled = Code(name: "cancelled")
    /// The request is malformed and was not sent.
    package static let invalidRequest = Code(name: "invalidRequest")
    /// The answer is larger than the client takes.
    package static let tooLarge = Code(name: "tooLarge")
    /// The connection failed, timed out or broke, or what came is no HTTP.
    package static let failed = Code(name: "failed")
  }

  /// What kind of failure it is.
  package let code: Code
  /// What libcurl says of it, for people.
  package let description: String
}
