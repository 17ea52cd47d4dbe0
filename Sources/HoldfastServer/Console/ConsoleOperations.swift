import HoldfastCore
import HoldfastService

extension Console {
  /// The rows of each listing of a recovery.
  private static let recoverySize = 200

  /// What `holdfast restore --report` prints, up to a number of rows.
  static func recovery(_ administration: Administration) throws -> JSONValue {
    func json(_ listing: Administration.Listing) -> JSONValue {
      [
        "columns": .array(listing.columns.map { .string($0) }),
        "count": .integer(Int64(listing.rows.count)),
        "rows": .array(listing.rows.prefix(recoverySize).map { .array($0.map { JSONValue.string($0) }) }),
      ]
    }
    return [
      "claims": json(try administration.recoveryClaims()),
      "missing": json(try administration.restoreReport()),
    ]
  }

  /// The content of `GET retention`: what is kept for how long, the last pass of this node, and what the clock looks like.
  static func json(
    of retention: Retention, _ limits: UserLimits, _ metrics: MetricsSummary, clockWarning warning: String?
  ) -> JSONValue {
    func row(_ what: String, _ seconds: Int64, _ until: String) -> JSONValue {
      ["what": .string(what), "seconds": .integer(seconds), "until": .string(until)]
    }
    func row(_ what: String, _ duration: Duration, _ until: String) -> JSONValue {
      row(what, duration.components.seconds, until)
    }
    return [
      "kept": [
        row(
          "tombstones of deleted records", retention.tombstones,
          "at least, and until each device that counts has acknowledged them"),
        row(
          "a device that is not seen", retention.devices,
          "then it no longer counts: its acks are purged, and it resyncs when it returns"),
        row("a session that is not used", limits.sessionIdle, "then the user signs in again"),
        row("any session", limits.sessionLifetime, "then the user signs in again"),
        row("conflicts", retention.conflicts, "then they are purged"),
        row(
          "answers to REST requests with an id", RequestRetention.time / 1000,
          "then a repeat is a new request"),
        row("ids of query results", KeptResult.life / 1000, "then a page has expired"),
        row("the audit log", AuditEntry.life / 1000, "and \(AuditEntry.countLimit) entries at most"),
        row("samples of minutes", StoredSample.Span.minute.life, "then only the hours are left"),
        row("samples of hours", StoredSample.Span.hour.life, "then they are purged"),
      ],
      "passes": .integer(Int64(metrics.purgePasses)), "last_pass": .time(Int64(metrics.lastPurgePass * 1000)),
      "clock": warning.map { .string($0) } ?? .null,
    ]
  }

  /// The content of `GET schema`.
  static func json(of schema: SyncSchema) -> JSONValue {
    [
      "name": .string(schema.name), "version": .integer(Int64(schema.version)),
      "oldest_version": .integer(Int64(schema.oldestVersion)),
      "text": .string(schema.json.formatted()),
      "tables": .array(
        schema.tables.filter { !$0.isBuiltIn }.map { table in
          [
            "table": .string(table.name), "columns": .array(table.columns.map { .string($0.name) }),
            "unique": .integer(Int64(table.unique.count)),
          ]
        }),
    ]
  }

  /// The content of `POST schema`: what `holdfast schema diff` prints.
  static func difference(of database: any ServerDatabase, to body: [UInt8]) throws -> JSONValue {
    let schema: SyncSchema
    do { schema = try SyncSchema(json: body) } catch {
      throw Problem(.invalidRequest, "This is no schema: \(error)")
    }
    let report = try database.report(of: schema)
    return ["verdict": .string("\(report.verdict)"), "text": .string(report.text)]
  }
}
