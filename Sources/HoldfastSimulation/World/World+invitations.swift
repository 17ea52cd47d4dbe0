import Holdfast
import HoldfastCore

/// Invitations to lists, which people make and accept while they have a connection.
extension World {
  /// Now and then somebody makes an invitation, or accepts one that somebody has made.
  func invite(with command: Command) {
    var chance = Chance(seed: command.seed, 13)
    guard !plan.isPeaceful, chance.one(in: 20), let device = chance.pick(devices),
      let app = device.apps.first
    else { return }
    let known = invitations.compactMap { $0.json["token"]?.stringValue }
    if chance.one(in: 2), let token = chance.pick(known) {
      return ask("POST", "v1/invitations/accept", ["token": .string(token)], Inquiry(), app, device)
    }
    let lists = device.view.tables.keys.filter { $0.table == "lists" }.sorted()
    guard let list = chance.pick(lists)?.id else { return }
    let (role, uses) = (chance.pick(["owner", "editor", "viewer"]) ?? "editor", 1 + chance.below(2))
    let invitation = Inquiry()
    invitations.append(invitation)
    oracle.invited(to: list, role: role, uses: uses)
    ask(
      "POST", "v1/zones/\(list)/invitations",
      ["role": .string(role), "expires_in": 86_400, "uses": .integer(Int64(uses))], invitation, app, device)
  }

  /// Sends a request of a device's user, beside its syncing.
  func ask(
    _ method: String, _ path: String, _ body: JSONValue?, _ inquiry: Inquiry, _ app: SimulatedDevice.App,
    _ device: SimulatedDevice
  ) {
    let token = run(as: app.process) { try? app.database.sessionToken() }
    guard checkLife(app, device, .other) else { return }
    let request = TransportRequest(method: method, path: path, token: token, body: body?.bytes)
    send(request, .inquiry(inquiry), app, device)
  }
}
