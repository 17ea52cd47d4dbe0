import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// The decision on a request by its head, before its body is read.
enum Admission: Sendable {
  case admitted(maximumBodyBytes: Int)
  case refused(HTTPResponse)
  /// Requires a fetch from the identity provider first.
  case fetch(@Sendable () -> Admission)
}

extension Authentication {
  /// The maximum body size of a request without a token: names, passwords and JWTs.
  static let strangerBodyLimit = 16 << 10

  /// Whether `admission` needs no database: the request needs no token, or its device is in the cache.
  func isKnown(_ head: HTTPRequest) -> Bool {
    guard takesToken(head) else { return true }
    return (try? bearer(of: head)).map { api.keys[$0.hash] != nil } ?? true
  }

  /// Decides whether to read a request's body: the endpoint and method must exist, and the token must be valid. A refused request costs
  /// only its head.
  func admission(of head: HTTPRequest) -> Admission {
    do {
      if api.web.mayAnswer(head) { return .admitted(maximumBodyBytes: Self.strangerBodyLimit) }
      let address = try Address(of: head, in: api.schema)
      let methods = address.methods(in: api.schema)
      guard methods.contains(head.method) else {
        return .refused(.problem(Problem(.methodNotAllowed), allow: methods.joined(separator: ", ")))
      }
      guard takesToken(head, at: address) else { return .admitted(maximumBodyBytes: Self.strangerBodyLimit) }
      if let provider = api.provider, JWT.isMeant(by: try api.bearerText(of: head)) {
        switch provider.check(try api.bearerText(of: head), at: api.environment.now()) {
        case .refused(let problem): throw problem
        case .needsKeys:
          return .fetch { [self] in
            provider.ask(at: api.environment.now())
            return admission(of: head)
          }
        // The device may be created when the request is complete.
        case .good: return .admitted(maximumBodyBytes: .max)
        }
      }
      if api.keys[try bearer(of: head).hash] == nil { try api.read { _ = try api.anyDevice(of: head, $0) } }
      return .admitted(maximumBodyBytes: .max)
    } catch { return .refused(.problem(api.problem(of: error))) }
  }
}
