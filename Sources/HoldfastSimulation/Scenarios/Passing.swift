import Holdfast
import HoldfastCore

/// A message in transit, as a scenario sees it.
enum Passing {
  case request(Message)
  case answer(Message, TransportAnswer)

  var message: Message {
    switch self {
    case .request(let message), .answer(let message, _): message
    }
  }

  var isRequest: Bool { if case .request = self { true } else { false } }

  /// Whether it is a sync, not an account request.
  var isSync: Bool { message.request.path == "v1/sync" }

  /// The body of the message.
  var body: [UInt8] {
    switch self {
    case .request(let message): message.request.body ?? []
    case .answer(_, let answer): answer.body
    }
  }

  /// The parsed body; null if it is no JSON.
  var json: JSONValue { (try? JSONValue(parsing: body)) ?? .null }

  /// Whether a request contains edits, or an answer belongs to such a request.
  var bringsEdits: Bool {
    let request = (try? JSONValue(parsing: message.request.body ?? [])) ?? .null
    return isSync && request["change_sets"]?.elements?.isEmpty == false
  }
}

/// The fate of a message.
enum Fate {
  case passes, isLost
  /// Waits until the scenario releases it.
  case isHeld
  /// Arrives now, and again when the scenario releases it.
  case isDoubled
  /// The device receives this instead of the answer. A request with this fate does not reach the server.
  case becomes(TransportAnswer)
}
