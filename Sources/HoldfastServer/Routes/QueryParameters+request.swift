import HoldfastCore
import HoldfastHTTP
import HoldfastService

extension QueryParameters {
  /// Parses the query of a request.
  ///
  /// - Throws: `Problem.invalidRequest` for an invalid escape or a repeated parameter.
  init(_ request: HTTPRequest) throws(Problem) { try self.init(request.query, decoded: HTTPRequest.decoded) }
}
