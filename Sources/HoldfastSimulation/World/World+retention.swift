import Holdfast
import HoldfastServer

/// Passes of the server over what may be purged.
extension World {
  static let day: Int64 = 86_400_000

  /// In some runs the server purges, now and then.
  func purge(with command: Command) {
    guard let retention = plan.retention else { return }
    var chance = Chance(seed: command.seed, 11)
    if chance.one(in: 12) { purge(retention) }
  }

  /// The server makes a pass.
  func purge(_ retention: Retention) {
    settleUnsure()
    guard let process = server.process, let inline = server.inline, disk.isAlive(process) else { return }
    lookAtServer()
    oracle.look(server.view)
    tellTime()
    let purged = run(as: process) { try? inline.purge(retention) }
    guard disk.isAlive(process) else { return serverDied() }
    let text = purged.map { "\($0.tombstones) tombstones, \($0.acks) acks, \($0.conflicts) conflicts" }
    history.add("server purges \(text ?? "nothing: it failed")", at: now)
    lookAtServer()
    oracle.look(server.view)
    pushEvents()
  }

  /// Time goes by in which the server runs, and nothing else happens.
  func age(_ milliseconds: Int64) {
    keepTime()
    clocks[SimulatedServer.machine, default: 0] += milliseconds
    aged += milliseconds
    keepTime()
  }

  /// The server looks at its clock, as it does every five minutes.
  private func keepTime() {
    guard let process = server.process, let inline = server.inline, disk.isAlive(process) else { return }
    run(as: process) { try? inline.keepTime() }
    if !disk.isAlive(process) { serverDied() }
  }

  /// Lets zones be resynced that wait for it.
  func passWaits() {
    for _ in 0..<90 where devices.contains(where: isWaiting) { pass(60_000) }
  }

  /// The log itself is purged.
  private func withoutLog(_ tables: Tables) -> Tables { tables.filter { $0.key.table != "conflicts" } }

  private func isWaiting(_ device: SimulatedDevice) -> Bool {
    guard let app = device.apps.first else { return false }
    return run(as: app.process) {
      (try? ResetPacing(database: app.database).waitingZones())?.isEmpty == false
    }
  }

  /// I11: all devices have acked, time has passed, and those that are gone are dead: no tombstone is left.
  func demandPurged(sync: (SimulatedDevice) -> Void) {
    guard var retention = plan.retention else { return }
    // A device that only reads is seen once a day.
    retention.devices = .seconds(172_800)
    // Later than all that the server has seen of its clock by a jump.
    let machine = SimulatedServer.machine
    clocks[machine, default: 0] += max(0, latestServerTime - time(on: machine))
    age(4000 * Self.day)
    // Long enough for a clock that had jumped to be believed.
    age(8 * Self.day)
    // The first says what came last, and is seen; the second has nothing more to say.
    for _ in 0..<2 { for device in devices { sync(device) } }
    // Who was taken for dead is reset, and may have been within the hour.
    if devices.contains(where: isWaiting) {
      passWaits()
      for device in devices { sync(device) }
    }
    let before = devices.map { withoutLog($0.view.tables) }
    purge(retention)
    let limit = time(on: SimulatedServer.machine) - Self.day
    for tombstone in server.view.tombstones where tombstone.at < limit {
      oracle.report(
        "I11", "server: the tombstone of \(tombstone.key) in zone \(tombstone.zone) is left for ever")
    }
    let resets = oracle.resets
    for device in devices { sync(device) }
    for (device, tables) in zip(devices, before) where withoutLog(device.view.tables) != tables {
      oracle.report("I8", "\(device.machine): what was purged changed what it has")
    }
    if oracle.resets > resets { oracle.report("I11", "who has acked all is reset") }
  }
}
