import HoldfastCore
import HoldfastService

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

extension Administration {
  /// What an action was done to, for the audit log: ids, never names of users.
  struct Audited {
    var target = ""
    var detail = ""
  }

  /// Lists the actions of operators, newest first: docs/CONSOLE.md, section 6.
  ///
  /// - Parameter limit: the maximum number of rows.
  public func audit(limit: Int = 100) throws -> Listing {
    let rows = try database.readConsole { try $0.rows(.audit(before: nil, action: "", limit: limit)) }
    return Listing(
      columns: ["at", "action", "target", "detail", "operator", "node", "address"],
      rows: rows.map { row in
        [Timestamp.text(milliseconds: row.integer(1))] + row.dropFirst(2).map { $0 ?? "" }
      })
  }

  /// Notes in the audit log that a backup was written, or why it was not.
  public func noteBackup(_ file: String, failure: String? = nil, detail: String = "") throws {
    try change(failure == nil ? .backup : .backupFailed) { _, _, audited in
      audited = Audited(target: file, detail: failure ?? detail)
    }
  }

  /// Notes in the audit log that a backup was restored; nil for a database that came back by other means.
  public func noteRestore(_ file: String?) throws {
    try change(file == nil ? .epoch : .restore) { _, _, audited in audited.target = file ?? "" }
  }

  /// Writes in one transaction, with an entry in the audit log, and notifies running servers.
  ///
  /// - Parameter body: also says what the action is done to.
  /// - Throws: what `body` throws; `ServerError.busy` if others keep it from going on for seconds.
  func change<Result>(
    _ action: AuditedAction, _ footprint: Footprint = Footprint(),
    _ body: (UnitOfWork, Stamp, inout Audited) throws -> Result
  ) throws -> Result {
    let store = operators.store
    let work = UnitOfWork(
      store, schema, rules: Rules(), clock: try ServiceClock(of: store, environment),
      environment: environment, log: { _ in })
    do {
      let now = try work.begin([footprint], isCareful: true).now
      var audited = Audited()
      let result = try body(work, now, &audited)
      try note(action, audited, work.stores, now)
      try work.commit(at: now)
      return result
    } catch {
      store.rollBack()
      switch store.meaning(of: error) {
      case .blocked, .transient:
        throw ServerError(
          .busy, "Others write what this command needs. Nothing was changed: run it again. (\(error))")
      default: throw error
      }
    }
  }

  /// Adds an entry to the audit log, in the transaction of the action.
  func note(_ action: AuditedAction, _ audited: Audited, _ stores: RecordStores, _ now: Stamp) throws {
    try operators.store.operators.add(
      AuditEntry(at: environment.now(), action, audited.target, audited.detail, by: author),
      id: stores.newID(at: now), at: stores.now)
  }
}

extension AuditAuthor {
  /// The person at the command line.
  static var commandLine: AuditAuthor {
    let user = getpwuid(geteuid()).map { String(cString: $0.pointee.pw_name) } ?? String(geteuid())
    return AuditAuthor(name: "command line (\(user))", node: machine, address: "")
  }
}
