import Foundation
public import Holdfast
import HoldfastSystem

/// A device of a test: a user's phone with the app's database, an engine, and a clock that may be wrong.
///
/// ```swift
/// let phone = try await world.device(user: "ann")
/// try await phone.store.write { try $0.insert(Item(id: $0.newID(), title: "Milk")) }
/// ```
public final class TestDevice: Sendable {
  private struct State {
    var store: Store
    var engine: SyncEngine
  }

  /// The name of its user's account.
  public let user: String
  /// What it is called in the account and in failures.
  public let name: String
  /// Another way to the same server, for an engine of the app's own.
  public var transport: any Transport { way }
  private let way: TestTransport
  private let path: String
  private let environment: StoreEnvironment
  private let offset: DeviceOffset
  private let state: Locked<State>

  init(
    user: String, name: String, path: String, schema: SyncSchema, seed: URL?, clock: TestClock,
    random: SeededRandom, way: TestTransport
  ) throws {
    let offset = DeviceOffset()
    let environment = StoreEnvironment(
      now: { clock.look() + offset.milliseconds }, random: { random.next() },
      sleep: { try await clock.sleep(for: $0) })
    (self.user, self.name, self.path, self.way) = (user, name, path, way)
    (self.environment, self.offset) = (environment, offset)
    let store = try Store(path: path, schema: schema, seed: seed, environment: environment)
    state = Locked(State(store: store, engine: Self.engine(of: store, way)))
  }

  /// The app's database. Another one after `relaunch()`.
  public var store: Store { state.withLock { $0.store } }
  /// Syncs it: `sync()` by hand. Another one after `relaunch()`.
  public var engine: SyncEngine { state.withLock { $0.engine } }

  /// Whether this device reaches the network; true at the beginning.
  public var isConnected: Bool {
    get { way.isConnected }
    set { way.isConnected = newValue }
  }

  /// How far the device's clock is ahead of the test's; zero at the beginning.
  public var clockOffset: Duration {
    get { .milliseconds(offset.milliseconds) }
    set { offset.milliseconds = Int64(newValue / .milliseconds(1)) }
  }

  /// Syncs once, until the server has everything from here and everything from there is here.
  ///
  /// - Throws: as `SyncEngine.sync()`: `StoreError.offline` when no request gets through.
  @discardableResult
  public func sync() async throws -> SyncSummary { try await engine.sync() }

  /// Ends the app and starts it again on the same file, as after a kill or an update.
  ///
  /// - Parameter schema: that of the app from now on; nil for that of before.
  /// - Throws: `StoreError` when the database can't follow the schema; the device keeps the closed store then.
  public func relaunch(schema: SyncSchema? = nil) async throws {
    let old = store
    await old.close()
    let new = try Store(path: path, schema: schema ?? old.schema, environment: environment)
    let engine = Self.engine(of: new, way)
    state.withLock { $0 = State(store: new, engine: engine) }
  }

  /// Whether a request would reach the server.
  var isReachable: Bool { way.isOpen }

  /// Whether the device's user is signed in on it.
  func isSignedIn() async throws -> Bool { try await store.account()?.isSignedIn ?? false }

  private static func engine(of store: Store, _ way: TestTransport) -> SyncEngine {
    SyncEngine(store: store, transport: way, snapshotsFrom: nil)
  }
}

/// How far a device's clock is ahead.
private final class DeviceOffset: Sendable {
  private let value = Locked<Int64>(0)

  var milliseconds: Int64 {
    get { value.withLock { $0 } }
    set { value.withLock { $0 = newValue } }
  }
}
