import HoldfastCore
import HoldfastHTTP

extension Address {
  /// The template of a request's path; `other` where there is no such address.
  static func route(of path: Substring, in schema: SyncSchema) -> String {
    (try? Address(of: HTTPRequest(target: String(path)), in: schema))?.route ?? unknownRoute
  }

  /// The template of a path that is none of the protocol's.
  static let unknownRoute = "other"

  /// The words of the server's addresses.
  private static let words: TextSet = [
    "", "v1", "sync", "accounts", "sessions", "current", "devices", "push-token", "users", "passes",
    "databases", "account",
    "password",
    "export", "events", "tickets", "tables", "batch", "schema", "openapi.json", "healthz", "readyz", "zones",
    "snapshot", "changes", "invitations", "accept", "look", "memberships", "membership", "grants", "blocks",
    "console", "client",
  ]

  /// The beginning of a path as far as it is made of the words of the server's addresses; `*` stands for what follows.
  static func ownPart(of path: Substring) -> Substring {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    let own = parts.prefix { words.contains(String($0)) }
    return own.count == parts.count ? path : Substring((own + ["*"]).joined(separator: "/"))
  }

  /// The template of the path, as the OpenAPI document names it, with one name for all tables: for metrics.
  var route: String {
    switch self {
    case .sync: "/v1/sync"
    case .accounts: "/v1/accounts"
    case .sessions: "/v1/sessions"
    case .currentSession: "/v1/sessions/current"
    case .devices: "/v1/devices"
    case .pushToken: "/v1/push-token"
    case .users: "/v1/users"
    case .passes: "/v1/passes"
    case .databases: "/v1/databases"
    case .device: "/v1/devices/{device}"
    case .account: "/v1/account"
    case .password: "/v1/account/password"
    case .export(let table): table == nil ? "/v1/account/export" : "/v1/account/export/{table}"
    case .events: "/v1/events"
    case .eventTickets: "/v1/events/tickets"
    case .records: "/v1/tables/{table}"
    case .record: "/v1/tables/{table}/{id}"
    case .restoration: "/v1/tables/{table}/{id}/restore"
    case .resolution: "/v1/tables/conflicts/{id}/resolve"
    case .batch: "/v1/batch"
    case .schema: "/v1/schema"
    case .openAPI: "/openapi.json"
    case .health: "/healthz"
    case .readiness: "/readyz"
    case .snapshot: "/v1/zones/{zone}/snapshot"
    case .zones: "/v1/zones"
    case .invitations: "/v1/zones/{zone}/invitations"
    case .invitation: "/v1/zones/{zone}/invitations/{invitation}"
    case .acceptance: "/v1/invitations/accept"
    case .invitationLook: "/v1/invitations/look"
    case .memberships: "/v1/memberships"
    case .membership: "/v1/memberships/{membership}"
    case .membershipAcceptance: "/v1/memberships/{membership}/accept"
    case .ownMembership: "/v1/zones/{zone}/membership"
    case .grants: "/v1/zones/{zone}/grants"
    case .grant: "/v1/zones/{zone}/grants/{grant}"
    case .blocks: "/v1/blocks"
    case .block: "/v1/blocks/{user}"
    case .changes: "/v1/zones/{zone}/changes"
    }
  }
}
