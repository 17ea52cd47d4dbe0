import Foundation
import HoldfastCore
import HoldfastServer

/// `holdfast serve`: runs the server.
enum ServeCommand: Subcommand {
  static let form = CommandForm(
    name: "serve", summary: "Runs the sync server until SIGTERM or SIGINT.",
    options: [
      .init(
        name: "check", value: nil,
        help: "Checks the options, the files that they name and the database, and ends without serving"),
      .init(
        name: "allow-removals", value: nil,
        help: "Start also with a schema that lacks tables or columns of the database; their data is kept"),
    ] + settings + .directory + .retention + .database,
    notes:
      "Prints a line with its address when it is ready. The log goes to the standard error, as JSON lines.")

  private static var settings: [CommandForm.Option] {
    let own: [CommandForm.Option] = [
      .init(name: "schema", value: "FILE", help: "The schema; without it, the one that is in the database"),
      .init(
        name: "must-exist", value: nil,
        help: "Refuses to make a database where there is none, as where a volume is not mounted"),
      .init(
        name: "listen", value: "ADDRESS:PORT",
        help: "Where to listen; 127.0.0.1:8080 unless given, port 0 is any free one"),
      .init(
        name: "heartbeat", value: "SECONDS",
        help: "How often a device's stream of events hears something; 25 unless given, 0.1 to 600"),
      .init(
        name: "allow-origin", value: "ORIGINS",
        help: "Origins whose pages may call from a browser, with commas between, or *; none unless given"),
      .init(
        name: "web", value: "DIR",
        help: "The folder of a web app, served beside the protocol; the JavaScript client is at /client/"),
      .init(
        name: "web-connect", value: "ORIGINS",
        help: "Origins of other servers to which pages of --web may connect, with commas between"),
      .init(
        name: "webhook", value: "URL",
        help: "Tells this program which zones moved and which devices to wake; with --webhook-secret"),
      .init(
        name: "webhook-secret", value: "FILE",
        help: "The key of the webhook's signatures: 16 bytes or more, without the line break at the end"),
      .init(
        name: "cache", value: "DIR",
        help:
          "Where snapshots are kept, for this database alone; DIR/snapshots or a temporary folder unless given"
      ),
      .init(
        name: "cache-size", value: "MB", help: "How much of them is kept; 4096 unless given"),
      .init(
        name: "read-timeout", value: "SECONDS",
        help: "How long a request may read before it is answered with 503; 10 unless given"),
      .init(
        name: "zone-records", value: "COUNT|none",
        help: "How many records a zone may hold before it takes no more; 1,000,000 unless given"),
      .init(
        name: "zone-size", value: "MB|none",
        help: "How much a zone may hold before it takes no more; 1024 unless given"),
      .init(
        name: "log-level", value: "debug|info|warning|error",
        help: "The least level of lines in the log; info unless given. Health checks are debug"),
      .init(
        name: "slow", value: "MS|none",
        help: "Logs requests and SQL statements that take this long as slow; 1000 unless given"),
      .init(
        name: "metrics", value: "ADDRESS:PORT",
        help: "Serves GET /metrics for Prometheus there, to everybody who reaches it; nowhere unless given"),
      .init(
        name: "console", value: "FILE",
        help: "Serves the operators' console at /console/ to holders of the token in FILE: 32 bytes or more"),
      .init(
        name: "console-actions", value: "FILE",
        help: "Lets operators act in the console: FILE has a line for each, a name, a space and a token"),
      .init(
        name: "node", value: "NAME",
        help:
          "What the console's charts and audit log call this node; the machine's name and the port unless given"
      ),
    ]
    return (own + identity).settings
  }

  static func run(_ options: Options) throws -> Int32 {
    let configuration = try configuration(options)
    if options.has("check") { return try check(configuration) }
    try Server.run(configuration) { server in
      if let port = server.metricsPort, let metrics = configuration.metrics {
        print("metrics on \(metrics.host):\(port)")
        Output.shared.set("metrics", .string("\(metrics.host):\(port)"))
      }
      print("listening on \(server.url)")
      Output.shared.set("url", .string(server.url))
      // Whoever started the server waits for this, and not for its end.
      Output.shared.finish(status: 0)
    }
    return 0
  }

  private static func configuration(_ options: Options) throws -> Configuration {
    let (address, port) = try endpoint(options["listen"] ?? "127.0.0.1:8080", "listen")
    let schema = try options["schema"].map(readSchema)
    var configuration = Configuration(
      schema: schema, database: try options.location, address: address, port: port)
    configuration.mustExist = options.has("must-exist")
    if options.has("allow-removals") { configuration.removals = .allow }
    if let text = options["heartbeat"] { configuration.heartbeat = try heartbeat(text) }
    configuration.webhook = try webhook(options)
    configuration.allowedOrigins = try origins(options, "allow-origin", orAll: true)
    configuration.webOrigins = try origins(options, "web-connect")
    configuration.webFolder = try webFolder(options)
    // The configuration file may have the password of the database.
    configuration.secretFiles = ["webhook-secret", "console", "console-actions", "config"].compactMap {
      options[$0]
    }
    try readIdentity(options, into: &configuration)
    configuration.snapshotFolder = options["cache"]
    configuration.retention = try options.retention
    if let seconds = try options.number("read-timeout", in: 1...3600, "seconds") {
      configuration.limitReading(to: .seconds(seconds))
    }
    try readZoneLimits(options, into: &configuration.environment.zoneLimits)
    if let text = options["cache-size"] {
      guard let megabytes = Int64(text), (1...1 << 30).contains(megabytes) else {
        throw UsageError("--cache-size takes megabytes, 1 or more.")
      }
      configuration.snapshotLimit = megabytes << 20
    }
    if let text = options["log-level"] {
      guard let level = LogLevel(rawValue: text) else {
        throw UsageError("--log-level takes debug, info, warning or error.")
      }
      configuration.logLevel = level
    }
    if options.has("slow") {
      let limit = try options.number("slow", in: 1...600_000, "milliseconds", orNone: true)
      configuration.slowLimit = limit.map { .milliseconds($0) }
    }
    if let text = options["metrics"] {
      let (host, port) = try endpoint(text, "metrics")
      configuration.metrics = MetricsAddress(host: host, port: port)
    }
    try readConsole(options, into: &configuration)
    return configuration
  }

  private static func readConsole(_ options: Options, into configuration: inout Configuration) throws {
    if let name = options["node"] {
      guard (1...64).contains(name.count), name.unicodeScalars.allSatisfy({ $0.isASCII && $0.value > 0x20 })
      else {
        throw UsageError("--node takes a name of 1 to 64 letters, digits and signs, without spaces.")
      }
      configuration.nodeName = name
    }
    guard let path = options["console"] else {
      if options.has("console-actions") { throw UsageError("--console-actions goes with --console.") }
      return
    }
    configuration.console = try ConsoleConfiguration(
      token: readKey(path), actions: options["console-actions"].map { try readFile($0) })
  }

  /// A secret in a file, without the line break at its end.
  private static func readKey(_ path: String) throws -> [UInt8] {
    var key = try readFile(path)
    while let last = key.last, last == 0x0A || last == 0x0D { key.removeLast() }
    return key
  }

  /// Reports what a start with the configuration would do.
  private static func check(_ configuration: Configuration) throws -> Int32 {
    for line in try Server.check(configuration) { print(line) }
    return 0
  }

  private static func heartbeat(_ text: String) throws(UsageError) -> Duration {
    // Double would also parse hexadecimal numbers, infinity and NaN.
    guard text.utf8.allSatisfy({ $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0) }),
      let seconds = Double(text),
      (0.1...600).contains(seconds)
    else {
      throw UsageError("--heartbeat takes seconds from 0.1 to 600.")
    }
    return .seconds(seconds)
  }

  private static func readZoneLimits(_ options: Options, into limits: inout ZoneLimits) throws(UsageError) {
    if options.has("zone-records") {
      limits.records = try options.number("zone-records", in: 1...1 << 40, orNone: true).map(Int64.init)
    }
    if options.has("zone-size") {
      let size = try options.number("zone-size", in: 1...1 << 40, "megabytes", orNone: true)
      limits.bytes = size.map { Int64($0) << 20 }
    }
  }

  private static func origins(
    _ options: Options, _ name: String, orAll mayBeAll: Bool = false
  ) throws(UsageError) -> TextSet {
    let origins = (options[name] ?? "").split(separator: ",").map(String.init)
    for origin in origins where !(mayBeAll && origin == "*") {
      // A blank or a semicolon would be another word of the header field.
      guard origin.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ";") }),
        let url = URL(string: origin), url.scheme != nil, url.host() != nil, url.path().isEmpty
      else {
        throw UsageError(
          "--\(name) takes origins such as https://app.example.org, without a path\(mayBeAll ? ", or *" : "")."
        )
      }
    }
    return TextSet(origins)
  }

  private static func webFolder(_ options: Options) throws(UsageError) -> String? {
    guard let path = options["web"] else { return nil }
    guard FileManager.default.fileExists(atPath: path + "/index.html") else {
      throw UsageError("--web takes a folder with an index.html; there is none in \(path).")
    }
    return path
  }

  private static func webhook(_ options: Options) throws -> WebhookConfiguration? {
    switch (options["webhook"], options["webhook-secret"]) {
    case (nil, nil): return nil
    case (let address?, let path?):
      guard let url = URL(string: address), ["http", "https"].contains(url.scheme) else {
        throw UsageError("--webhook takes an address such as https://push.example.org/holdfast.")
      }
      let secret = try readKey(path)
      if secret.count < 16 { throw UsageError("The secret in \(path) is shorter than 16 bytes.") }
      return .over(http: url, secret: secret)
    default: throw UsageError("--webhook and --webhook-secret go together.")
    }
  }

  private static func endpoint(_ text: String, _ option: String) throws(UsageError) -> (
    address: String, port: UInt16
  ) {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
      throw UsageError("--\(option) takes ADDRESS:PORT, such as 127.0.0.1:8080 or [::1]:8080.")
    }
    var address = text[..<colon]
    if address.hasPrefix("["), address.hasSuffix("]") { address = address.dropFirst().dropLast() }
    return (String(address), port)
  }
}
