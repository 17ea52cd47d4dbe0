import Holdfast
import HoldfastCore

/// A message on its way, as a scenario sees it.
enum Passing {
  case request(Message)
  case answer(Message, TransportAnswer)

  var message: Message {
    switch self {
    case .request(let message), .answer(let message, _): message
    }
  }

  var isRequest: Bool { if case .request = self { true } else { false } }

  /// Whether it is about syncing, not about an account.
  var isSync: Bool { message.request.path == "v1/sync" }

  /// The body of what comes.
  var body: [UInt8] {
    switch self {
    case .request(let message): message.request.body ?? []
    case .answer(_, let answer): answer.body
    }
  }

  /// What the body says; null where it is no JSON.
  var json: JSONValue { (try? JSONValue(parsing: body)) ?? .null }

  /// Whether a request brings edits, or an answer confirms a request that did.
  var bringsEdits: Bool {
    let request = (try? JSONValue(parsing: message.request.body ?? [])) ?? .null
    return isSync && request["change_sets"]?.elements?.isEmpty == false
  }
}

/// What becomes of a message.
enum Fate {
  case passes, isLost
  /// Waits until the scenario releases it.
  case isHeld
  /// Comes now, and once more when the scenario releases it.
  case isDoubled
  /// The device hears this, and of a request the server hears nothing.
  case becomes(TransportAnswer)
}
