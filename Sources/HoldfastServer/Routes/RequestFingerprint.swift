import HoldfastHTTP
import HoldfastService

/// The hash that identifies a request: of its method, target and content.
func requestFingerprint(_ request: HTTPRequest) -> [UInt8] {
  ContentHash(of: [Array(request.method.utf8), Array(request.target.utf8), request.body]).bytes
}
