import Foundation
import HoldfastCore
import HoldfastSQLite

/// Where time and chance come from. The one place that asks the system for them.
///
/// ```swift
/// let environment = StoreEnvironment(now: { clock.milliseconds }, random: { generator.next() }, sleep: { try await clock.sleep(for: $0) })
/// let store = try Store(path: path, schema: schema, environment: environment)
/// ```
public struct StoreEnvironment: Sendable {
  /// Milliseconds since 1970.
  public let now: @Sendable () -> Int64
  /// 64 random bits.
  public let random: @Sendable () -> UInt64
  /// Waits; throws when the task is cancelled.
  public let sleep: @Sendable (Duration) async throws -> Void

  /// Whether the clock is the system's, which SQLite asks by itself.
  private var isSystem = false

  /// An environment of its parts.
  public init(
    now: @escaping @Sendable () -> Int64, random: @escaping @Sendable () -> UInt64,
    sleep: @escaping @Sendable (Duration) async throws -> Void
  ) {
    self.now = now
    self.random = random
    self.sleep = sleep
  }

  /// The system's clock and randomness.
  public static let system: StoreEnvironment = {
    var environment = StoreEnvironment(
      now: { Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)) },
      random: { UInt64.random(in: .min ... .max) },
      sleep: { try await Task.sleep(for: $0) })
    environment.isSystem = true
    return environment
  }()

  /// Has a connection tell the time by this clock: the triggers that note an edit ask SQLite.
  func setClock(of connection: SQLiteConnection) throws {
    if !isSystem { try connection.setClock(now) }
  }

  /// Makes an id for a new record.
  public func newID() -> String { Identifier.make(milliseconds: now(), random: (random(), random())) }
}
