import HoldfastCore
import HoldfastService

/// An action of an operator, by the code of the command line: docs/CONSOLE.md, section 6.
enum ConsoleAction: Equatable {
  case revoke(device: String)
  /// Nil for all zones.
  case reset(device: String, zone: String?)
  /// The user by name, as claims are listed.
  case grant(zone: String, user: String)
  case refuse(zone: String, user: String)

  /// Reads the body of a request.
  ///
  /// - Throws: `Problem`: `malformedJSON`, or `invalidRequest` for a member that is missing, unknown or too long.
  init(parsing body: [UInt8]) throws(Problem) {
    var texts: TextMap<String> = [:]
    try readJSON(body) { reader in
      try reader.readObject { key, reader in
        let text = try reader.readString()
        guard Console.isText(text), !text.isEmpty else {
          throw Problem(
            .invalidRequest,
            "Each member of an action is a text of 1 to \(Console.textLimit) bytes, without U+0000.")
        }
        texts[key.string] = text
      }
    }
    switch (texts["action"], texts["device"], texts["zone"], texts["user"], texts.count) {
    case ("revoke", let device?, nil, nil, 2): self = .revoke(device: device)
    case ("reset", let device?, nil, nil, 2): self = .reset(device: device, zone: nil)
    case ("reset", let device?, let zone?, nil, 3): self = .reset(device: device, zone: zone)
    case ("grant", nil, let zone?, let user?, 3): self = .grant(zone: zone, user: user)
    case ("refuse", nil, let zone?, let user?, 3): self = .refuse(zone: zone, user: user)
    default:
      throw Problem(
        .invalidRequest,
        "action is revoke with device, reset with device and perhaps zone, or grant or refuse with zone and user."
      )
    }
  }

  /// What the log says of it: no names of users, as an erased user leaves none there.
  var name: String {
    switch self {
    case .revoke(let device): "revoke \(device)"
    case .reset(let device, let zone): "reset \(device)\(zone.map { " in \($0)" } ?? "")"
    case .grant(let zone, _): "grant \(zone)"
    case .refuse(let zone, _): "refuse \(zone)"
    }
  }

  /// Acts, with an entry in the audit log.
  ///
  /// - Returns: what has happened, in a sentence.
  /// - Throws: `Problem`, or an error of the store.
  func perform(on administration: Administration) throws -> String {
    do {
      switch self {
      case .revoke(let device):
        try administration.revoke(device: device)
        return "The device is signed out. It keeps its unsent edits until its user signs in on it."
      case .reset(let device, let zone):
        let count = try administration.reset(.device(device), zone: zone)
        return "\(count) \(count == 1 ? "zone is" : "zones are") fetched again with the device's next sync."
      case .grant(let zone, let user):
        try administration.grantRecovery(of: zone, toUser: user)
        return "\(user) is the owner of the zone, and recovers it with the next sync."
      case .refuse(let zone, let user):
        try administration.refuseRecovery(of: zone, toUser: user)
        return "The claim of \(user) is refused."
      }
    } catch let error as ServerError {
      switch error.code {
      case .notFound: throw Problem(.notFound, error.description)
      case .refused: throw Problem(.invalidOperation, error.description)
      default: throw error
      }
    } catch let problem as Problem {
      throw problem
    } catch {
      switch administration.operators.store.meaning(of: error) {
      case .full: throw Problem(.storageFull, retryAfter: 30)
      case .unavailable, .transient, .blocked, .denied:
        throw Problem(
          .busy, "Another writer was in the way, and nothing was changed. Try again.", retryAfter: 1)
      case .rule, .other: throw error
      }
    }
  }
}
