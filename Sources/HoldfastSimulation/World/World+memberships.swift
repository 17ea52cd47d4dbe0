import Holdfast
import HoldfastCore
import HoldfastHTTP
import HoldfastServer

/// Memberships that wait for the word of their users.
extension World {
  /// Everybody who has a session accepts what waits for an answer, but for some who never answer.
  func answerInvitations() {
    guard acceptsMemberships else { return }
    for (membership, user) in server.view.pending {
      guard !isIgnored(membership), let process = server.process, let inline = server.inline,
        disk.isAlive(process), let token = token(of: user)
      else { continue }
      oracle.accepted(membership)
      var headers = HTTPHeaders()
      headers.append(name: "Authorization", value: "Bearer \(token)")
      let response = run(as: process) {
        inline.respond(
          to: HTTPRequest(
            method: "POST", target: "/v1/memberships/\(membership.id)/accept", headers: headers, body: []))
      }
      history.add("server: \(user) accepts \(membership): \(response.status)", at: now)
      guard disk.isAlive(process) else { return serverDied() }
      lookAtServer()
    }
  }

  /// One in eight invitations of a plan gets no answer.
  private func isIgnored(_ membership: RecordKey) -> Bool {
    !plan.isPeaceful && !plan.commands.isEmpty && (membership.id.utf8.last ?? 0) & 7 == 0
  }

  /// The token of one of a user's devices.
  private func token(of user: String) -> String? {
    for device in devices where userID(of: device) == user {
      guard let app = device.apps.first else { continue }
      if let token = run(as: app.process, { try? app.database.sessionToken() }),
        checkLife(app, device, .other)
      {
        return token
      }
    }
    return nil
  }
}
