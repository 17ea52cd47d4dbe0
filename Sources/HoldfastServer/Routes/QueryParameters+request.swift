import HoldfastCore
import HoldfastHTTP
import HoldfastService

extension QueryParameters {
  /// Reads the query of a request.
  ///
  /// - Throws: `Problem.invalidRequest` for a wrong escape, and a parameter that is there twice.
  init(_ request: HTTPRequest) throws(Problem) { try self.init(request.query, decoded: HTTPRequest.decoded) }
}
