public import HoldfastCore
import HoldfastSQLiteStore
public import HoldfastService
import HoldfastSystem

/// An operator's view of the shared database, and operations on it. Works while servers run.
public final class Administration {
  /// Rows of text, for display as a table.
  public struct Listing: Sendable, Equatable {
    /// The names of the columns.
    public let columns: [String]
    /// The rows, each with one text per column.
    public let rows: [[String]]
  }

  let database: any ServerDatabase
  let schema: SyncSchema
  let environment: ServerEnvironment
  let operators: any StoreAdministration
  /// Who acts, for the audit log.
  let author: AuditAuthor
  let location: DatabaseLocation

  /// Opens the database of a server.
  ///
  /// - Throws: `ServerError` if there is none, or it is not Holdfast's.
  public convenience init(_ location: DatabaseLocation, environment: ServerEnvironment = .system) throws {
    try self.init(location.open(schema: nil, random: environment.random), location, environment: environment)
  }

  /// Takes the open database of a server.
  ///
  /// - Parameter author: who acts; nil for the person at the command line.
  package init(
    _ database: any ServerDatabase, _ location: DatabaseLocation, environment: ServerEnvironment = .system,
    author: AuditAuthor? = nil
  ) throws {
    self.database = database
    operators = try database.administration()
    schema = database.schema
    var environment = environment
    environment.limits.mayHaveGuests = try database.read { try $0.databaseName() } != nil
    self.environment = environment
    self.location = location
    self.author = author ?? .commandLine
  }

  /// Lists all zones, with the number of their members and records.
  public func zones() throws -> Listing {
    Listing(
      columns: ["zone", "public", "seq", "purged", "members", "records", "moved to"],
      rows: try operators.zones())
  }

  /// Lists all accounts.
  public func users() throws -> Listing {
    Listing(columns: ["user", "name", "created", "devices"], rows: try operators.users())
  }

  /// Lists conflicting edits, newest first.
  ///
  /// - Parameter limit: the maximum number of rows.
  public func conflicts(limit: Int = 100) throws -> Listing {
    Listing(
      columns: ["at", "zone", "table", "record", "column", "policy", "winner", "loser", "resolution"],
      rows: try operators.conflicts(limit: limit))
  }

  /// Lists what a restored database lacks: zones of which a device claims to have seen more changes than the database has.
  public func restoreReport() throws -> Listing {
    Listing(
      columns: ["zone", "restored", "claimed", "records", "deletions", "missing"],
      rows: try operators.restoreReport())
  }

  /// Looks for suspicious data that may be intended: on PostgreSQL, records that were written without their triggers.
  ///
  /// - Returns: one line for each suspicion.
  public func doubts() throws -> [Finding] { try operators.doubts() }

  /// Why the clock is not believed; nil if it is.
  var clockWarning: String? {
    get throws { try operators.store.purging.time().flatMap { TimeStep(time: $0, wentBack: false).warning } }
  }

  /// Checks the consistency of the whole database.
  ///
  /// - Returns: one line for each finding; empty if there are none.
  public func doctor() throws -> [Finding] {
    var wentBack: Finding?
    if case .wentBack(let reason, _) = try location.historyVerdict() {
      wentBack =
        Finding(
          .history,
          "the database is not the one that was served last. \(reason) The next start of a server begins a new epoch."
        )
    }
    let clock = try clockWarning.map { Finding(.clock, $0) }
    return try operators.doctor() + operators.wrongAccess().map(\.finding)
      + [wentBack, clock].compactMap { $0 }
  }

  /// Makes a user a member of a zone, or changes the member's role. Devices receive the change at their next sync.
  ///
  /// - Throws: `ServerError.notFound` if there is no such zone or user; `refused` if the zone would lose its last owner.
  public func grant(zone: String, name: String, role: Role) throws {
    try write(to: zone) { stores, now in
      let user = try grant(zone: zone, name: name, role: role, on: stores, at: now)
      try note(.member, Audited(target: zone, detail: "\(role.rawValue): \(user)"), stores, now)
    }
  }

  /// Writes to a zone in one transaction, with the locks that the service takes.
  func write(to zone: String, _ body: (RecordStores, Stamp) throws -> Void) throws {
    let store = operators.store
    let stores = RecordStores(schema, on: store, random: environment.random)
    let clock = try ServiceClock(of: store, environment)
    _ = try stores.transaction.begin([Footprint(zones: [zone])], isCareful: false)
    do {
      let now = clock.advance(milliseconds: environment.now(), past: stores.transaction.clockSeen)
      try body(stores, now)
      try stores.transaction.commit(at: now, announcing: stores.ledger.changes)
    } catch {
      store.rollBack()
      throw error
    }
  }

  /// - Returns: the user's id.
  private func grant(
    zone: String, name: String, role: Role, on stores: RecordStores, at now: Stamp
  ) throws -> String {
    guard try stores.ledger.exists(zone) else {
      throw ServerError(.notFound, "There is no zone \(zone). `holdfast zones` lists them.")
    }
    guard let user = try stores.store.accounts.id(ofName: name) else {
      throw ServerError(.notFound, "There is no user \(name). `holdfast users` lists them.")
    }
    let author = Author(device: 0, user: user, clock: now)
    guard let id = try operators.membership(of: user, in: zone),
      let member = try stores.tables[stores.members].record(id)
    else {
      try stores.addMember(user, named: name, role: role, to: zone, by: author)
      try stores.followGroups(of: zone, user)
      return user
    }
    do { try stores.setRole(role, of: member, by: author) } catch let problem as Problem {
      throw ServerError(.refused, problem.description)
    }
    return user
  }
}

extension Administration {
  /// Makes one pass over what may be purged, also while servers run: docs/RETENTION.md, section 2.
  ///
  /// - Parameters:
  ///   - retention: what is kept for how long.
  ///   - trustsClock: whether the clock is right, however far it is ahead: docs/RETENTION.md, section 7.
  ///   - warn: is told when the clock is not believed, and what to do.
  ///   - pause: lets time go by between two steps, in which servers write.
  /// - Returns: what was purged.
  public func purge(
    _ retention: Retention = Retention(), trustsClock: Bool = false, warn: (String) -> Void = { _ in },
    pause: @escaping (Duration) -> Void = { _ in }
  ) throws -> Purged {
    try pass(retention, trustsClock: trustsClock, warn: warn, pause).run()
  }

  func pass(
    _ retention: Retention, trustsClock: Bool = false, warn: (String) -> Void = { _ in },
    _ pause: @escaping (Duration) -> Void
  ) throws -> RetentionPass {
    let store = operators.store
    let said = Locked("Run it again.")
    let service = Service(
      store, schema, .slow, rules: Rules(), clock: try ServiceClock(of: store, environment),
      environment: environment, log: { line in said.withLock { $0 = line } })
    guard case .success(.time(let step)) = service.applyInTurns(.keepTime(isTrusted: trustsClock)) else {
      throw ServerError(.unreachable, "The time could not be written. \(said.withLock { $0 })")
    }
    if let warning = step.warning { warn(warning) }
    let terms = RetentionTerms(retention, in: database.history, at: step.time)
    return RetentionPass(
      find: { [database, schema] kind, place in
        try database.read { try $0.found(kind, after: place, terms, in: schema) }
      },
      purge: { item in
        guard case .success(.purged(let purged)) = service.applyInTurns(.purge(item, terms)) else {
          return nil
        }
        return purged
      },
      pause: pause)
  }
}

extension Administration {
  /// Erases a user: docs/EXPORT-AND-ERASURE.md, section 2. Also while servers run, which end what this leaves.
  ///
  /// - Parameters:
  ///   - name: the name of the user.
  ///   - pause: lets time go by between two steps, in which servers write.
  /// - Returns: the user's id, and whether nothing is left.
  /// - Throws: `ServerError.notFound` when there is no such user.
  public func erase(
    _ name: String, pause: @escaping (Duration) -> Void = { _ in }
  ) throws -> (id: String, isDone: Bool) {
    let user = try change(.erase) { work, _, audited in
      guard let user = try work.store.accounts.id(ofName: name) else {
        throw ServerError(.notFound, "There is no user \(name). `holdfast users` lists them.")
      }
      if let home = try work.store.guests.home(of: user) {
        throw ServerError(
          .refused, "\(name) is a guest here. Erase the user in the home, the database \(home).")
      }
      audited.target = user
      try Erasing(work).beginErasure(of: user)
      return user
    }
    // When several users are erased at once, data that passes from one to another needs another pass.
    while try database.read({ try $0.isBeingErased(user) }) {
      let step = try pass(Retention(), pause).run(Purgeable.Kind.ofErasures)
      if step.erasedRecords + step.remains + step.users == 0 { return (user, false) }
    }
    return (user, true)
  }
}

extension StoreReader {
  /// Whether data of a user whose erasure has begun is left.
  fileprivate func isBeingErased(_ user: String) throws -> Bool {
    var last = ""
    while let next = try erasedUser(after: last) {
      if next == user { return true }
      last = next
    }
    return false
  }
}
