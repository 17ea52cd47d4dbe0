import HoldfastCore
import HoldfastService

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// What an operator should look at, each with the view that has more of it.
struct ConsoleAttention {
  /// How long ago an error of the log counts, and how long ago a new epoch does, in milliseconds.
  private static let (errorAge, epochAge): (Int64, Int64) = (3_600_000, 7 * 86_400_000)
  /// How old the last backup may be, in milliseconds.
  private static let backupAge: Int64 = 36 * 3_600_000
  /// The entries of the audit log that are looked through for backups.
  private static let backupLimit = 50

  private(set) var items: [JSONValue] = []
  let now: Int64

  private mutating func add(_ view: String, _ text: String) {
    items.append(["view": .string(view), "text": .string(text)])
  }

  /// A disk that is nearly full.
  mutating func look(at disk: DiskFigures?) {
    guard let disk, disk.free < min(1 << 30, disk.size / 20) || disk.free < 64 << 20 else { return }
    add(
      "server",
      "The disk of the database is nearly full: \(disk.free >> 20) MiB of \(disk.size >> 20) MiB are free. Without space devices keep their edits, and repeat them."
    )
  }

  /// Errors in the log.
  mutating func look(at log: LogRing) {
    let errors = log.warnings.compactMap { try? JSONValue(parsing: Array($0.utf8)) }.filter { line in
      let at = line["time"]?.stringValue.flatMap { Timestamp.milliseconds($0) } ?? 0
      return line["level"] == "error" && at > now - Self.errorAge
    }
    guard let last = errors.first else { return }
    let what = last["message"]?.stringValue ?? last["problem"]?.stringValue ?? ""
    add(
      "log",
      "The log of this node has \(errors.count)\(errors.count == LogRing.warningSize ? " or more" : "") errors of the last hour. The last one: \(what.prefix(300))"
    )
  }

  /// A database that went back.
  mutating func look(at history: History) {
    guard history.began > now - Self.epochAge, !history.reason.isEmpty else { return }
    add(
      "recovery",
      "A new epoch began at \(Timestamp.text(milliseconds: history.began)), as \(history.reason). Devices upload what the database lacks."
    )
  }

  /// What the database says.
  mutating func look(at answers: ConsoleAnswers) throws {
    let backups = try answers.reader.rows(
      .audit(before: nil, action: AuditedAction.backup.rawValue, limit: Self.backupLimit))
    let last = backups.first { $0[2] == AuditedAction.backup.rawValue }
    if let newest = backups.first, newest[2] == AuditedAction.backupFailed.rawValue {
      add("backups", "The last backup failed: \(newest[4] ?? "")")
    } else if let last, abs(last.integer(1) - now) > Self.backupAge {
      add("backups", "The last backup is of \(Timestamp.text(milliseconds: last.integer(1))).")
    }
    if try !answers.reader.rows(.refusals(afterDevice: 0, afterFirst: 0, limit: 1)).isEmpty {
      add("refusals", "Refused change sets wait on devices.")
    }
  }

  /// What operators have to decide.
  mutating func look(at administration: Administration) throws {
    let waiting = try administration.operators.zoneClaims().count { $0.state == .waiting && !$0.zoneExists }
    if waiting > 0 {
      add("recovery", "\(waiting) recovery \(waiting == 1 ? "claim waits" : "claims wait") for a decision.")
    }
    if let warning = try administration.clockWarning { add("retention", warning) }
  }
}

/// The disk of a data directory.
struct DiskFigures {
  let free: Int64
  let size: Int64

  /// Nil for a database elsewhere.
  init?(_ location: DatabaseLocation) {
    guard case .directory(let path) = location else { return nil }
    var figures = statvfs()
    guard statvfs(path, &figures) == 0 else { return nil }
    free = Int64(
      clamping: UInt64(figures.f_bavail).multipliedReportingOverflow(by: UInt64(figures.f_frsize))
        .partialValue)
    size = Int64(
      clamping: UInt64(figures.f_blocks).multipliedReportingOverflow(by: UInt64(figures.f_frsize))
        .partialValue)
  }

  var json: JSONValue { ["free_bytes": .integer(free), "size_bytes": .integer(size)] }
}
