import Foundation

/// PgBouncer before a cluster, in transaction mode, started by Scripts/pgbouncer.sh; it goes with the process.
public final class TemporaryPooler: Sendable {
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

  private let folder: String

  /// What the watchdog reads from; its end is the sign to stop.
  private let lifeline: Int32

  /// Starts one.
  public init(before server: TemporaryPostgres) throws {
    let (folder, lifeline) = try Script.pgbouncer.makeFolder()
    url = try Script.pgbouncer.run("start", folder, server.url)
    (self.folder, self.lifeline) = (folder, lifeline)
  }

  /// Leads new connections to another cluster. Those of clients stay.
  public func lead(to server: TemporaryPostgres) throws {
    _ = try Script.pgbouncer.run("lead", folder, server.url)
  }

  deinit { close(lifeline) }

  /// The URL by which a database of the cluster is reached through it.
  public func url(of database: String) throws -> String {
    guard var parts = URLComponents(string: database), let own = URLComponents(string: url) else {
      throw TemporaryPostgresError("\(database) is no URL")
    }
    (parts.host, parts.port) = (own.host, own.port)
    guard let text = parts.string else { throw TemporaryPostgresError("\(database) is no URL") }
    return text
  }
}
