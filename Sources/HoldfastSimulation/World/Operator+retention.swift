import Holdfast
import HoldfastServer

/// Passes of the server over what may be purged.
extension Operator {
  static let day: Int64 = 86_400_000

  /// In some runs the server purges, now and then.
  func purge(with command: Command) {
    guard let retention = world.plan.retention else { return }
    var chance = Chance(seed: command.seed, 11)
    if chance.one(in: 12) { purge(retention) }
  }

  /// The server makes a pass.
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

  /// Time goes by in which the server runs, and nothing else happens.
  func age(_ milliseconds: Int64) {
    keepTime()
    world.clocks[SimulatedServer.machine, default: 0] += milliseconds
    world.aged += milliseconds
    keepTime()
  }

  /// The server looks at its clock, as it does every five minutes.
  private func keepTime() {
    guard let process = world.server.process, let inline = world.server.inline, world.disk.isAlive(process)
    else { return }
    world.run(as: process) { try? inline.keepTime() }
    if !world.disk.isAlive(process) { world.serverDied() }
  }

  /// Lets zones be resynced that wait for it.
  func passWaits() {
    for _ in 0..<90 where world.devices.contains(where: isWaiting) { world.pass(60_000) }
  }

  /// The log itself is purged.
  private func withoutLog(_ tables: Tables) -> Tables { tables.filter { $0.key.table != "conflicts" } }

  private func isWaiting(_ device: SimulatedDevice) -> Bool {
    guard let app = device.apps.first else { return false }
    return world.run(as: app.process) {
      (try? ResetPacing(database: app.database).waitingZones())?.isEmpty == false
    }
  }

  /// I11: all devices have acked, time has passed, and those that are gone are dead: no tombstone is left.
  func demandPurged(sync: (SimulatedDevice) -> Void) {
    guard var retention = world.plan.retention else { return }
    // A device that only reads is seen once a day.
    retention.devices = .seconds(172_800)
    // Later than all that the server has seen of its clock by a jump.
    let machine = SimulatedServer.machine
    world.clocks[machine, default: 0] += max(0, world.latestServerTime - world.time(on: machine))
    age(4000 * Self.day)
    // Long enough for a clock that had jumped to be believed.
    age(8 * Self.day)
    // The first says what came last, and is seen; the second has nothing more to say.
    for _ in 0..<2 { for device in world.devices { sync(device) } }
    // Who was taken for dead is reset, and may have been within the hour.
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
