import HoldfastCore

extension TransportAnswer {
  /// Whether the server says that the session is over. Any other 401 is that of a proxy, or of a network that wants a person to sign in to it.
  var endsSession: Bool {
    guard status == 401 else { return false }
    return switch Problem(document: body)?.code {
    case .tokenInvalid, .tokenMissing: true
    default: false
    }
  }

  /// What a person is told of an answer that is of no use.
  var reason: String {
    Problem(document: body)?.description
      ?? "What answered with status \(status) is no Holdfast server. Check the server's address, and whether the network wants you to sign in first."
  }
}
