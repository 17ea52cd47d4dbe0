import HoldfastHTTP
import HoldfastService

/// The client that a job counts for in fair scheduling.
enum Client: Hashable, Sendable {
  /// A user, by id.
  case user(String)
  /// A token that is not yet looked up.
  case token(TokenHash)
  /// An unauthenticated client, by the network of its address.
  case network(String)
  /// The server itself.
  case server

  /// The user's id, if known.
  var user: String? { if case .user(let id) = self { id } else { nil } }

  /// The client at an address. One subscriber has all addresses of an IPv6 /64.
  static func at(_ address: String) -> Client { .network(IPAddress.network(of: address)) }

  /// The same client, but a network becomes the larger one that a customer of a provider can have.
  var site: Client {
    guard case .network(let text) = self, let address = IPAddress(String(text.prefix { $0 != "/" })) else {
      return self
    }
    return .network(address.site)
  }
}
