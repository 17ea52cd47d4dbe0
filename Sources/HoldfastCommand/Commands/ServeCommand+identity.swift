import Foundation
import HoldfastCurl
import HoldfastHTTP
import HoldfastServer

/// The options for sign-in and identity providers.
extension ServeCommand {
  static var identity: [CommandForm.Option] {
    [
      .init(
        name: "guess-limit", value: "COUNT",
        help: "How many wrong passwords an account takes from an address; 10 unless given"),
      .init(
        name: "sign-up", value: nil,
        help: "Anybody may make an account with a password, though there is an identity provider",
        alternatives: ["no-sign-up"]),
      .init(
        name: "no-sign-up", value: nil,
        help: "Nobody makes an account with a password; so it is with an identity provider",
        alternatives: ["sign-up"]),
      .init(
        name: "sign-up-limit", value: "COUNT",
        help: "How many accounts are asked for from an address in an hour; 100 unless given"),
      .init(
        name: "user-zones", value: "COUNT",
        help: "How many zones a user may own or be a member of, the user's own included; 20,000 unless given"),
      .init(
        name: "user-size", value: "MB|none",
        help: "How much the zones that a user owns may hold together; 10240 unless given"),
      .init(
        name: "session-idle", value: "DAYS",
        help: "How long a session lasts in which nothing is synced or written; 180 unless given"),
      .init(
        name: "session-lifetime", value: "DAYS", help: "How long any session lasts; 400 unless given"),
      .init(
        name: "trust-proxy", value: "ADDRESSES",
        help: "Proxies whose X-Forwarded-For is believed: ADDRESS or ADDRESS/PREFIX, with commas between"),
      .init(
        name: "connections-per-address", value: "COUNT",
        help: "Connections of one address, not of this machine or a trusted proxy; 1,000 unless given"),
      .init(
        name: "tls-cert", value: "FILE",
        help: "Speaks TLS with this certificate and the chain above it, in PEM; with --tls-key"),
      .init(name: "tls-key", value: "FILE", help: "The certificate's key, in PEM"),
      .init(
        name: "guest-session", value: "DAYS",
        help: "How long the session of a guest lasts after the last pass, 1 to 30; 7 unless given"),
      .init(name: "jwt-issuer", value: "URL", help: "Takes JWTs of this issuer; with the next two"),
      .init(name: "jwt-audience", value: "NAME", help: "What the JWTs' aud must be"),
      .init(name: "jwt-keys", value: "FILE|URL", help: "The issuer's key set (JWKS)"),
    ]
  }

  static func readIdentity(_ options: Options, into configuration: inout Configuration) throws(UsageError) {
    if let limit = try options.number("guess-limit", in: 1...1_000_000) { configuration.guessLimit = limit }
    switch (options.has("sign-up"), options.has("no-sign-up")) {
    case (true, true): throw UsageError("--sign-up and --no-sign-up contradict each other.")
    case (true, false): configuration.allowsSignUp = true
    case (false, true): configuration.allowsSignUp = false
    case (false, false): break
    }
    var limits = configuration.environment.limits
    if let limit = try options.number("sign-up-limit", in: 1...1_000_000) { limits.signUpsInHour = limit }
    limits.zones = try options.number("user-zones", in: 1...20_000) ?? limits.zones
    if options.has("user-size") {
      let size = try options.number("user-size", in: 1...1 << 40, "megabytes", orNone: true)
      limits.bytes = size.map { Int64($0) << 20 }
    }
    limits.sessionIdle = try days("session-idle", options) ?? limits.sessionIdle
    limits.sessionLifetime = try days("session-lifetime", options) ?? limits.sessionLifetime
    configuration.environment.limits = limits
    var ranges: [IPAddress.Range] = []
    for text in (options["trust-proxy"] ?? "").split(separator: ",") {
      guard let range = IPAddress.Range(String(text)) else {
        throw UsageError("--trust-proxy takes addresses such as 10.0.0.1 or 10.0.0.0/8, not \(text).")
      }
      ranges.append(range)
    }
    configuration.trustedProxies = TrustedProxies(ranges)
    if let url = options["directory"] {
      var directory = DirectoryConfiguration(url)
      if let days = try options.number("guest-session", in: 1...30, "days") {
        directory.guestSession = .seconds(days * 86_400)
      }
      configuration.directory = directory
    } else if options.has("guest-session") {
      throw UsageError("--guest-session goes with --directory.")
    }
    if let limit = try options.number("connections-per-address", in: 1...1_000_000) {
      configuration.limits.maximumConnectionsPerAddress = limit
    }
    switch (options["tls-cert"], options["tls-key"]) {
    case (nil, nil): break
    case (let certificate?, let key?): configuration.tls = TLSFiles(certificate: certificate, key: key)
    default: throw UsageError("--tls-cert and --tls-key go together.")
    }
    switch (options["jwt-issuer"], options["jwt-audience"], options["jwt-keys"]) {
    case (nil, nil, nil): return
    case (let issuer?, let audience?, let keys?):
      configuration.identityProvider = IdentityProviderConfiguration(
        issuer: issuer, audience: audience, keys: source(keys))
    default: throw UsageError("--jwt-issuer, --jwt-audience and --jwt-keys go together.")
    }
  }

  private static func days(_ name: String, _ options: Options) throws(UsageError) -> Duration? {
    try options.number(name, in: 2...36_500, "days").map { .seconds($0 * 86_400) }
  }

  /// Returns a function that reads a file or fetches a URL.
  private static func source(_ text: String) -> @Sendable () -> [UInt8]? {
    guard text.hasPrefix("http://") || text.hasPrefix("https://"), let url = URL(string: text) else {
      return { try? readFile(text) }
    }
    let client = HTTPClient(.brief)
    return {
      guard let answer = try? client.sendAndWait(HTTPClientRequest(url: url.absoluteString)) else {
        return nil
      }
      return answer.head.status == 200 ? answer.body : nil
    }
  }
}
