import HoldfastHTTP
import HoldfastService

/// What makes a request the same: the hash of its method, its target and its content.
func requestFingerprint(_ request: HTTPRequest) -> [UInt8] {
  ContentHash(of: [Array(request.method.utf8), Array(request.target.utf8), request.body]).bytes
}
