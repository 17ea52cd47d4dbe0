import HoldfastConcurrency
internal import CPostgres

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// Opens a connection step by step, so that a refusal of the server has its SQLSTATE.
///
/// `PQconnectdb` would only give a message. As it does, an attempt goes on to the next address when one is silent for the connect timeout.
enum ConnectionAttempt {
  /// Opens a connection.
  static func connect(_ conninfo: String, _ options: PostgresOptions) throws(PostgresError) -> OpaquePointer {
    try check(conninfo)
    let defaults = [
      ("fallback_application_name", options.applicationName),
      ("connect_timeout", "\(max(options.connectTimeout.components.seconds, 1))"),
      ("keepalives", "1"),
      ("keepalives_idle", "\(max(options.keepaliveIdle.components.seconds, 1))"),
      ("keepalives_interval", "5"),
      ("keepalives_count", "3"),
      ("tcp_user_timeout", "\(max(milliseconds(options.unacknowledgedTimeout), 1))"),
    ]
    // The connection string overrides settings before `dbname`, but not those after it.
    let settings = defaults + [("dbname", conninfo), ("client_encoding", "UTF8")]
    // Those of the connection string, until one of them is silent.
    var addresses: [ServerAddress]?
    while true {
      guard let connection = start(settings + (addresses.map(ServerAddress.settings) ?? [])) else {
        throw PostgresError(.outOfMemory, "There is no memory for a connection.", while: .connecting)
      }
      let silent: ServerAddress
      do throws(PostgresError) {
        guard let address = try finish(connection) else { return connection }
        silent = address
      } catch {
        PQfinish(connection)
        throw error
      }
      // libpq would go on to the next address only if this one failed.
      let tried = addresses ?? self.addresses(of: connection)
      let others = tried.filter { !$0.isSame(as: silent) }
      PQfinish(connection)
      guard !others.isEmpty, others.count < tried.count else {
        throw PostgresError(.cannotConnect, "No server answered in time.", while: .connecting)
      }
      addresses = others
    }
  }

  private static func addresses(of connection: OpaquePointer) -> [ServerAddress] {
    guard let options = PQconninfo(connection) else { return [] }
    defer { PQconninfoFree(options) }
    func list(_ keyword: String) -> String { value(of: keyword, in: options) ?? "" }
    return ServerAddress.all(hosts: list("host"), addresses: list("hostaddr"), ports: list("port"))
  }

  /// Rejects a connection string that libpq can't parse, without quoting it, because it may contain a password.
  private static func check(_ conninfo: String) throws(PostgresError) {
    let parsed = conninfo.utf8.contains(0) ? nil : PQconninfoParse(conninfo, nil)
    guard let parsed else {
      throw PostgresError(
        .invalidConnectionString,
        "The connection string is neither a postgres:// URL nor a list of key=value.", while: .connecting)
    }
    defer { PQconninfoFree(parsed) }
    // An @ in a password truncates it. Its rest then becomes the host or port, which libpq's messages would quote.
    let port = value(of: "port", in: parsed) ?? ""
    let isCut = value(of: "host", in: parsed)?.contains("@") == true
    if isCut || !port.utf8.allSatisfy({ (48...57).contains($0) || $0 == 44 }) {
      throw PostgresError(
        .invalidConnectionString,
        "The connection string has no valid host and port; an @ in a password is written %40.",
        while: .connecting)
    }
  }

  private static func value(
    of keyword: String, in options: UnsafeMutablePointer<PQconninfoOption>
  ) -> String? {
    var option = options
    while let name = option.pointee.keyword {
      if String(cString: name) == keyword { return option.pointee.val.map { String(cString: $0) } }
      option += 1
    }
    return nil
  }

  private static func milliseconds(_ duration: Duration) -> Int32 {
    Int32(clamping: Int64(duration / .milliseconds(1)))
  }

  private static func start(_ settings: [(String, String)]) -> OpaquePointer? {
    let keywords = settings.map { strdup($0.0) }
    let values = settings.map { strdup($0.1) }
    defer { for text in keywords + values { free(text) } }
    let keywordPointers = keywords.map { UnsafePointer($0) } + [nil]
    let valuePointers = values.map { UnsafePointer($0) } + [nil]
    return PQconnectStartParams(keywordPointers, valuePointers, 1)
  }

  /// Waits until the connection is open.
  ///
  /// - Returns: the address that was silent for the connect timeout; nil if the connection is open.
  private static func finish(_ connection: OpaquePointer) throws(PostgresError) -> ServerAddress? {
    // Verbose messages contain the SQLSTATE.
    PQsetErrorVerbosity(connection, PQERRORS_VERBOSE)
    let timeout = Duration.seconds(timeout(of: connection))
    var deadline = MonotonicTime.exact + timeout
    var address = ServerAddress(triedBy: connection)
    var next = PGRES_POLLING_WRITING
    if PQstatus(connection) == CONNECTION_BAD { next = PGRES_POLLING_FAILED }
    while next == PGRES_POLLING_READING || next == PGRES_POLLING_WRITING {
      let events: Readiness = next == PGRES_POLLING_READING ? .readable : .writable
      if Readiness.wait(for: events, of: PQsocket(connection), until: deadline).isEmpty {
        return address
      }
      next = PQconnectPoll(connection)
      let current = ServerAddress(triedBy: connection)
      if current != address { (address, deadline) = (current, MonotonicTime.exact + timeout) }
    }
    PQsetErrorVerbosity(connection, PQERRORS_DEFAULT)
    if next != PGRES_POLLING_OK { throw refusal(of: connection) }
    return nil
  }

  private static func timeout(of connection: OpaquePointer) -> Int64 {
    guard let options = PQconninfo(connection) else { return 5 }
    defer { PQconninfoFree(options) }
    let seconds = value(of: "connect_timeout", in: options).flatMap { Int64($0) } ?? 5
    // As in libpq, without a setting there is no limit; here it is a century.
    return seconds > 0 ? seconds : Int64(Int32.max)
  }

  /// The error of a failed connection. libpq has no function for its SQLSTATE, but its verbose message has it after the severity: `FATAL:
  /// 53300: sorry, …`.
  private static func refusal(of connection: OpaquePointer) -> PostgresError {
    let words = PostgresError.words(of: connection)
    let first = words.split(separator: "\n").first.map(String.init) ?? ""
    let bytes = Array(words.utf8)
    for index in bytes.indices.dropLast(9) where bytes[index...].starts(with: ":  ".utf8) {
      let state = bytes[(index + 3)..<(index + 8)]
      let isState = state.allSatisfy { (48...57).contains($0) || (65...90).contains($0) }
      if isState, bytes[index + 8] == 58 {
        return PostgresError(
          .init(rawValue: String(decoding: state, as: UTF8.self)), first, while: .connecting)
      }
    }
    return PostgresError(.cannotConnect, first, while: .connecting)
  }
}
