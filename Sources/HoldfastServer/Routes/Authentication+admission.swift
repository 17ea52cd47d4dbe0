import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// What is known of a request by its head, before any of its content is read.
enum Admission: Sendable {
  case admitted(maximumBodyBytes: Int)
  case refused(HTTPResponse)
  /// Takes as long as the answer of somebody else's server.
  case fetch(@Sendable () -> Admission)
}

extension Authentication {
  /// How large the content of somebody may be who has no token yet: names, passwords and JWTs.
  static let strangerBodyLimit = 16 << 10

  /// Whether the head alone says that the content may be read, without the database: its device was seen lately.
  func isKnown(_ head: HTTPRequest) -> Bool {
    guard takesToken(head) else { return true }
    return (try? bearer(of: head)).map { api.keys[$0.hash] != nil } ?? true
  }

  /// Decides whether a request's content is read: of what has an address and a method, and of whom a token is good. Anybody else costs what a
  /// head costs.
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
        case .refused(let reason): throw Problem(.tokenInvalid, reason)
        case .needsKeys:
          return .fetch { [self] in
            provider.ask(at: api.environment.now())
            return admission(of: head)
          }
        // Its device may be made when the request is whole.
        case .good: return .admitted(maximumBodyBytes: .max)
        }
      }
      if api.keys[try bearer(of: head).hash] == nil { try api.read { _ = try api.anyDevice(of: head, $0) } }
      return .admitted(maximumBodyBytes: .max)
    } catch { return .refused(.problem(api.problem(of: error))) }
  }
}
