public import Foundation
public import Holdfast
public import HoldfastService
import HoldfastSystem

/// A server and devices in one process, for the tests of an app: the real client and the real rules of the server, without sockets,
/// threads to wait for, or time that passes by itself.
///
/// `withTestWorld(schema:)` makes one and checks at its end that nothing is left. The same test does the same each time.
///
/// ```swift
/// @Test func `an edit of a phone that is offline reaches the tablet`() async throws {
///   try await withTestWorld(schema: schema) { world in
///     let phone = try await world.device(user: "ann")
///     let tablet = try await world.device(user: "ann")
///     world.network.isConnected = false
///     try await phone.store.write { try $0.insert(List(id: $0.newID(), title: "Party")) }
///     world.network.isConnected = true
///     try await world.settle()
///     #expect(try await tablet.store.read { try $0.fetch(List.self, "SELECT * FROM lists") }.count == 1)
///   }
/// }
/// ```
public final class TestWorld: Sendable {
  /// A device syncs at most so often before it must have come to rest.
  private static let roundLimit = 50

  private struct State {
    var devices: [TestDevice] = []
    var users: TextSet = []
  }

  /// The time of the server and of all devices.
  public let clock: TestClock
  /// The network between them.
  public let network = TestNetwork()
  /// The server.
  public let server: TestServer
  private let schema: SyncSchema
  private let seed: UInt64
  private let folder: URL
  private let state = Locked(State())

  /// A world with a server and no devices.
  ///
  /// - Parameters:
  ///   - schema: that of the server and, unless they are given another, of the devices.
  ///   - rules: the team's own validators and resolvers.
  ///   - seed: of all randomness: another seed makes other ids.
  ///   - start: what the clock shows at first; the beginning of 2026 unless given.
  /// - Throws: `ServerError` when the rules do not fit the schema.
  public init(
    schema: SyncSchema, rules: Rules = Rules(), seed: UInt64 = 1,
    start: Date = Date(timeIntervalSince1970: 1_767_225_600)
  ) throws {
    (self.schema, self.seed) = (schema, seed)
    let name = "holdfast-test-\(UUID().uuidString)"
    folder = FileManager.default.temporaryDirectory.appending(path: name)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    clock = TestClock(start: Int64(start.timeIntervalSince1970 * 1000))
    server = try TestServer(
      schema: schema, rules: rules, clock: clock, random: SeededRandom(seed: seed), name: name)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// The devices, in the order in which they were made.
  public var devices: [TestDevice] { state.withLock { $0.devices } }

  /// Makes a device and signs its user in. The first device of a user makes the account.
  ///
  /// - Parameters:
  ///   - user: the name of the account: 1 to 64 of a-z, 0-9, `.`, `_` and `-`.
  ///   - name: what the device is called; such as `device 1` unless given.
  ///   - schema: that of its app; the world's unless given.
  ///   - snapshot: a file that the app ships as its first database.
  /// - Throws: `StoreError` and `Problem` as the sign-in does: `StoreError.offline` while the network is cut.
  public func device(
    user: String, name: String? = nil, schema: SyncSchema? = nil, snapshot: URL? = nil
  ) async throws -> TestDevice {
    let number = devices.count + 1
    let device = try TestDevice(
      user: user, name: name ?? "device \(number)", path: folder.appending(path: "device\(number).db").path,
      schema: schema ?? self.schema, seed: snapshot, clock: clock,
      random: SeededRandom(seed: seed &+ UInt64(number) << 32), way: TestTransport(network, server))
    let isNew = state.withLock { !$0.users.contains(user) }
    if isNew {
      try await device.engine.signUp(name: user, password: Self.password(of: user), device: device.name)
    } else {
      try await device.engine.signIn(name: user, password: Self.password(of: user), device: device.name)
    }
    state.withLock { state in
      state.users.insert(user)
      state.devices.append(device)
    }
    return device
  }

  /// The password of an account that the world made, for a test of the app's own sign-in.
  public static func password(of user: String) -> String { "password of \(user)" }

  /// Shares a zone with the user of another device, as by a link that the other opens.
  ///
  /// - Parameters:
  ///   - zone: such as the id of a list.
  ///   - owner: a device of an owner of the zone.
  ///   - guest: a device of the user who accepts.
  ///   - role: what the guest may do.
  /// - Throws: `Problem` when the server refuses; `StoreError.offline`.
  public func share(_ zone: String, from owner: TestDevice, with guest: TestDevice, as role: Role)
    async throws
  {
    try await owner.sync()
    let invitation = try await owner.engine.invite(to: zone, role: role)
    _ = try await guest.engine.accept(invitation: invitation.token)
  }

  /// Syncs all devices that reach the server, in the order in which they were made, until none of them has anything new.
  ///
  /// - Parameter allowed: what may be left on them afterwards; nothing unless given.
  /// - Throws: `UnsettledWorld`, when edits are not sent or were refused; `StoreError` of a device that can't sync.
  public func settle(allowing allowed: Pending = []) async throws {
    var isMoving = true
    for _ in 0..<Self.roundLimit where isMoving {
      isMoving = false
      for device in devices where device.isReachable {
        guard try await device.isSignedIn() else { continue }
        do {
          let summary = try await device.sync()
          if summary.sent + summary.received + summary.quarantined > 0 { isMoving = true }
        } catch let error as StoreError where error.code == .offline && device.isReachable {
          // A fault of this one request: the next gets through.
          isMoving = true
        }
      }
    }
    if isMoving {
      throw UnsettledWorld(findings: [
        "The devices do not come to rest: each sync brings something new, or fails. \(server.failures.joined(separator: " "))"
      ])
    }
    try await check(devices.filter(\.isReachable), allowing: allowed)
  }

  /// Checks that nothing is left on any device, also on those that are not connected. `withTestWorld` does this at its end.
  ///
  /// - Parameter allowed: what may be left; nothing unless given.
  /// - Throws: `UnsettledWorld`.
  public func finish(allowing allowed: Pending = []) async throws {
    try await check(devices, allowing: allowed)
  }

  private func check(_ devices: [TestDevice], allowing allowed: Pending) async throws {
    var findings: [String] = []
    for device in devices { findings += try await device.findings(allowing: allowed) }
    if !findings.isEmpty { throw UnsettledWorld(findings: findings) }
  }
}

/// Runs a test in a world of its own, and checks at the end that nothing is left on its devices.
///
/// - Parameters:
///   - schema: that of the server and of the devices.
///   - rules: the team's own validators and resolvers.
///   - allowed: what may be left; nothing unless given.
///   - isolation: the caller's actor; leave it out.
///   - body: the test.
/// - Returns: what `body` returns.
/// - Throws: what `body` throws; `UnsettledWorld`; `ServerError` when the rules do not fit the schema.
public func withTestWorld<Result>(
  schema: SyncSchema, rules: Rules = Rules(), allowing allowed: Pending = [],
  isolation: isolated (any Actor)? = #isolation, _ body: (TestWorld) async throws -> Result
) async throws -> Result {
  let world = try TestWorld(schema: schema, rules: rules)
  let result = try await body(world)
  try await world.finish(allowing: allowed)
  return result
}
