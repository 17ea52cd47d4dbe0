import Foundation

/// PgBouncer before the shared cluster, started by Scripts/pgbouncer.sh; it goes with the process.
final class TemporaryPooler: Sendable {
  /// The one that all tests of this process share, started at first use; nil when none is asked for.
  static let shared: TemporaryPooler? = {
    let asked = ProcessInfo.processInfo.environment["HOLDFAST_TEST_POSTGRES_POOLER"] ?? ""
    if asked.isEmpty { return nil }
    do { return try TemporaryPooler(before: TemporaryPostgres.shared) } catch {
      fatalError("No PgBouncer could be started: \(error)")
    }
  }()

  /// Where it listens, as the superuser.
  let url: String

  /// What the watchdog reads from; its end is the sign to stop.
  private let lifeline: Int32

  private init(before server: TemporaryPostgres) throws {
    let (folder, lifeline) = try Script.pgbouncer.makeFolder()
    url = try Script.pgbouncer.run("start", folder, server.url)
    self.lifeline = lifeline
  }

  deinit { close(lifeline) }
}
