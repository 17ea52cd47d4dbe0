import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Testing

@testable import HoldfastServer

/// An operation of the document of the interface.
struct DocumentedOperation: Hashable {
  let method: String
  /// With parameters in braces.
  let path: String
  /// Whether it takes a token.
  let isSecured: Bool

  /// All of a server's.
  static func all(_ server: TestServer) throws -> [DocumentedOperation] {
    let document = try JSONValue(parsing: try server.respond(to: HTTPRequest(target: "/openapi.json")).body)
    return (document["paths"]?.members ?? []).flatMap { path in
      (path.value.members ?? []).map {
        DocumentedOperation(
          method: $0.name.uppercased(), path: path.name,
          isSecured: $0.value["security"]?.elements?.isEmpty != true)
      }
    }
  }

  /// The table that it is about; nil for the service.
  var table: String? {
    let parts = path.split(separator: "/")
    if isExport { return parts.count > 3 ? String(parts[3]) : nil }
    return parts.count > 2 && parts[1] == "tables" ? String(parts[2]) : nil
  }

  /// Whether it ends the sender's account.
  var erases: Bool { method == "DELETE" && path == "/v1/account" }

  /// Whether the sender leaves a zone by it.
  var leaves: Bool { method == "DELETE" && path == "/v1/zones/{zone}/membership" }

  private var isExport: Bool { path.hasPrefix("/v1/account/export") }

  /// The name of its row: tables of one rule are alike.
  func row(_ schema: SyncSchema) -> String {
    guard let table, let index = schema.index(of: table) else { return "\(method) \(path)" }
    let kind =
      switch schema.tables[index].zone {
      case .root: "{root}"
      case .parent: "{child}"
      case .user: "{own}"
      case .public: "{public}"
      case .explicit, .server: table
      }
    return "\(method) \(path.replacing("/\(table)", with: "/\(kind)"))"
  }

  /// The path and the body of a request that is about a record.
  ///
  /// - Parameter device: the id of somebody's device.
  func request(
    _ target: AccessScene.Target, _ scene: AccessScene, device: String
  ) throws -> (String, JSONValue?) {
    var concrete = path.replacing("{id}", with: target.id).replacing("{zone}", with: target.zone)
      .replacing("{device}", with: device).replacing("{user}", with: "nobody")
      .replacing("{membership}", with: "none").replacing("{grant}", with: "none")
    if path.contains("{invitation}") {
      concrete = concrete.replacing("{invitation}", with: try scene.makeInvitation(to: target.zone).id)
    }
    if path.hasPrefix("/v1/invitations/") {
      return (concrete, ["token": .string(try scene.makeInvitation(to: nil).token)])
    }
    guard let table, !isExport else { return (concrete, serviceBody(target)) }
    let id = JSONValue.string(target.id)
    let isOne = path.contains("{id}")
    if concrete.hasSuffix("/restore") {
      return (concrete, ["columns": scene.columns(table, target, target.other)])
    }
    if concrete.hasSuffix("/resolve") { return (concrete, ["take": "loser"]) }
    switch method {
    case "GET" where !isOne: return (concrete + "?limit=1000", nil)
    case "DELETE" where !isOne: return (concrete + "?ids=\(target.id)", nil)
    case "PATCH" where isOne: return (concrete, ["columns": Self.change(table, target)])
    case "PATCH":
      return (concrete, ["records": [["id": id, "columns": Self.change(table, target)]]])
    case "POST" where table == "members":
      // Who is a member already can't be made one again.
      let columns: JSONValue = ["name": .string(target.other), "role": "viewer"]
      return (concrete, ["zone": .string(target.zone), "columns": columns])
    case "POST", "PUT": return (concrete, scene.body(of: table, target, target.other))
    default: return (concrete, nil)
    }
  }

  /// What an update of a record changes.
  static func change(_ table: String, _ target: AccessScene.Target) -> JSONValue {
    let text = JSONValue.string(target.other)
    return switch table {
    case "lists", "items": ["title": text]
    case "tags", "products": ["name": text]
    case "notes": ["text": text]
    case "members": ["role": "editor"]
    case "conflicts": ["resolution": "winner"]
    default: ["item_id": .string(target.parent)]
    }
  }

  private func serviceBody(_ target: AccessScene.Target) -> JSONValue? {
    let (table, id) = (JSONValue.string(target.table), JSONValue.string(target.id))
    let change = Self.change(target.table, target)
    switch "\(method) \(path)" {
    case "POST /v1/accounts":
      return ["name": .string(target.other), "password": "correct horse", "device": ["name": "x"]]
    case "POST /v1/sessions":
      return ["name": "alice", "password": "correct horse", "device": ["name": "x"]]
    case "POST /v1/devices": return ["name": "x"]
    case "PUT /v1/push-token": return ["kind": "apns", "token": "t"]
    case "POST /v1/zones/{zone}/invitations": return ["role": "viewer", "expires_in": 60, "uses": 1]
    case "DELETE /v1/account": return ["password": "correct horse"]
    case "PUT /v1/account/password": return ["old": "correct horse", "new": "correct horse"]
    case "POST /v1/batch":
      return ["operations": [["op": "update", "table": table, "id": id, "columns": change]]]
    case "POST /v1/sync":
      let operation: JSONValue = [
        "op": "update", "table": table, "id": id, "rev": 1, "at": .string(Stamp(milliseconds: 1000).text),
        "columns": change, "base": [:],
      ]
      return [
        "protocol": 1, "first": 1, "chain": "0000000000000000", "change_sets": [[operation]],
        "acks": .object([.init(target.zone, "")]),
      ]
    default: return nil
    }
  }
}

/// What a request was answered with, in short.
struct AccessOutcome: CustomStringConvertible {
  let status: Int
  /// The problem of the whole, or of the one operation in it.
  let code: String?
  /// The status of the one operation in it.
  let inner: Int64?
  /// Whether what is secret stands in the answer.
  let isShown: Bool

  init(_ response: HTTPResponse, secret: String) {
    let body = (try? JSONValue(parsing: response.body)) ?? .null
    let result = body["results"]?.elements?.first ?? body["errors"]?.elements?.first
    let refused = body["refused"]?.elements?.first
    status = response.status
    code = (result?["problem"] ?? refused?["problem"] ?? body)["code"]?.stringValue
    inner = result?["status"]?.integerValue
    isShown = response.content.firstRange(of: Array(secret.utf8)) != nil
  }

  /// Whether nothing may have come of it.
  var isRefused: Bool { code != nil }

  var description: String {
    ["\(status)", inner.map { "(\($0))" }, code, isShown ? "shown" : nil].compactMap { $0 }.joined(
      separator: " ")
  }
}
