import Holdfast
import HoldfastServer

/// Retention passes of the server.
extension Operator {
  static let day: Int64 = 86_400_000

  /// In some runs the server purges occasionally.
  func purge(with command: Command) {
    guard let retention = world.plan.retention else { return }
    var chance = Chance(seed: command.seed, 11)
    if chance.one(in: 12) { purge(retention) }
  }

  /// Runs a retention pass of the server.
  func purge(_ retention: Retention) {
    ClerkTraffic(world: world).settleUnsure()
    guard let process = world.server.process, let inline = world.server.inline, world.disk.isAlive(process)
    else { return }
    world.lookAtServer()
    world.oracle.look(world.server.view)
    world.tellTime()
    let purged = world.run(as: process) { try? inline.purge(retention) }
    guard world.disk.isAlive(process) else { return world.serverDied() }
    let text = purged.map { "\($0.tombstones) tombstones, \($0.acks) acks, \($0.conflicts) conflicts" }
    world.history.add("server purges \(text ?? "nothing: it failed")", at: world.now)
    world.lookAtServer()
    world.oracle.look(world.server.view)
    StreamTraffic(world: world).pushEvents()
  }

  /// Lets time pass on the running server, without any other event.
  func age(_ milliseconds: Int64) {
    keepTime()
    world.clocks[SimulatedServer.machine, default: 0] += milliseconds
    world.aged += milliseconds
    keepTime()
  }

  /// Updates the server's clock, as it does every five minutes.
  private func keepTime() {
    guard let process = world.server.process, let inline = world.server.inline, world.disk.isAlive(process)
    else { return }
    world.run(as: process) { try? inline.keepTime() }
    if !world.disk.isAlive(process) { world.serverDied() }
  }

  /// Lets time pass until postponed resyncs are done.
  func passWaits() {
    for _ in 0..<90 where world.devices.contains(where: isWaiting) { world.pass(60_000) }
  }

  /// The conflict log is purged too.
  private func withoutLog(_ tables: Tables) -> Tables { tables.filter { $0.key.table != "conflicts" } }

  private func isWaiting(_ device: SimulatedDevice) -> Bool {
    guard let app = device.apps.first else { return false }
    return world.run(as: app.process) {
      (try? ResetPacing(database: app.database).waitingZones())?.isEmpty == false
    }
  }

  /// I11: all devices have acked, time has passed, and missing devices have expired: no tombstone is left.
  func demandPurged(sync: (SimulatedDevice) -> Void) {
    guard var retention = world.plan.retention else { return }
    // A device that only reads is recorded as seen once a day.
    retention.devices = .seconds(172_800)
    // Later than every time that the server has seen by a clock jump.
    let machine = SimulatedServer.machine
    world.clocks[machine, default: 0] += max(0, world.latestServerTime - world.time(on: machine))
    age(4000 * Self.day)
    // Long enough for the server to accept a clock that had jumped.
    age(8 * Self.day)
    // The first sync sends the last acks; the second has nothing left to send.
    for _ in 0..<2 { for device in world.devices { sync(device) } }
    // An expired device is reset, and its resync may be postponed for an hour.
    if world.devices.contains(where: isWaiting) {
      passWaits()
      for device in world.devices { sync(device) }
    }
    let before = world.devices.map { withoutLog($0.view.tables) }
    purge(retention)
    let limit = world.time(on: SimulatedServer.machine) - Self.day
    for tombstone in world.server.view.tombstones where tombstone.at < limit {
      world.oracle.report(
        "I11", "server: the tombstone of \(tombstone.key) in zone \(tombstone.zone) is left for ever")
    }
    let resets = world.oracle.resets
    for device in world.devices { sync(device) }
    for (device, tables) in zip(world.devices, before) where withoutLog(device.view.tables) != tables {
      world.oracle.report("I8", "\(device.machine): what was purged changed what it has")
    }
    if world.oracle.resets > resets { world.oracle.report("I11", "who has acked all is reset") }
  }
}
