import HoldfastServer

/// `holdfast serve`: the server.
enum ServeCommand: Subcommand {
  static let form = CommandForm(
    name: "serve", summary: "Runs the sync server until SIGTERM or SIGINT.",
    options: [
      .init(name: "schema", value: "FILE", help: "The schema; without it, the one that is in the database"),
      .init(
        name: "listen", value: "ADDRESS:PORT",
        help: "Where to listen; 127.0.0.1:8080 unless given, port 0 is any free one"),
      .init(
        name: "heartbeat", value: "SECONDS",
        help: "How often a device's stream of events hears something; 25 unless given, 0.1 to 600"),
    ] + .database,
    notes:
      "Prints a line with its address when it is ready. The log goes to the standard error, as JSON lines.")

  static func run(_ options: Options) throws -> Int32 {
    let (address, port) = try endpoint(options["listen"] ?? "127.0.0.1:8080")
    let schema = try options["schema"].map(readSchema)
    var configuration = Configuration(
      schema: schema, database: try options.location, address: address, port: port)
    if let text = options["heartbeat"] { configuration.heartbeat = try heartbeat(text) }
    try Server.run(configuration) { server in
      writeLine("listening on \(server.url)")
    }
    return 0
  }

  private static func heartbeat(_ text: String) throws(UsageError) -> Duration {
    guard let seconds = Double(text), (0.1...600).contains(seconds) else {
      throw UsageError("--heartbeat takes seconds from 0.1 to 600.")
    }
    return .seconds(seconds)
  }

  private static func endpoint(_ text: String) throws(UsageError) -> (address: String, port: UInt16) {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
      throw UsageError("--listen takes ADDRESS:PORT, such as 127.0.0.1:8080 or [::1]:8080.")
    }
    var address = text[..<colon]
    if address.hasPrefix("["), address.hasSuffix("]") { address = address.dropFirst().dropLast() }
    return (String(address), port)
  }
}
