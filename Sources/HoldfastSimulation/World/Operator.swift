import HoldfastCore
import HoldfastServer
import HoldfastSQLite

/// Backups and restores of the server.
struct Operator {
  let world: World

  /// Longer than a device keeps a zone that awaits recovery.
  private static let holding = 25 * 3_600_000 as Int64

  /// Takes a backup while the server runs.
  ///
  /// Only when everyone has an account, because a second sign-up would create another user.
  func backUpServer() {
    guard let serving = world.server.process, world.disk.isAlive(serving), world.plan.postgres == nil,
      world.devices.allSatisfy({ $0.hasAccount && !world.userID(of: $0).isEmpty })
    else { return }
    world.lookAtServer()
    world.oracle.look(world.server.view)
    let process = world.disk.start(on: SimulatedServer.machine)
    world.observers.insert(process)
    defer { world.disk.kill(process) }
    let copy = SimulatedServer.path + ".copy"
    do {
      try world.run(as: process) {
        try SQLiteConnection(path: SimulatedServer.path, access: .readWrite).backup(to: copy)
        guard let content = world.disk.read(copy) else { return }
        world.server.backup = .init(content: content, memory: world.oracle.server)
        try world.disk.delete(copy)
      }
      world.history.add("server: a backup of \(world.server.backup?.content.count ?? 0) bytes", at: world.now)
    } catch {
      world.oracle.report("I2", "the server can not be backed up: \(error)")
    }
  }

  /// Restores the server's database from the backup.
  func restoreServer() {
    guard let backup = world.server.backup else { return }
    // A stopped server may not have the tables of its version yet.
    if world.server.inline != nil { world.lookAtServer() }
    world.oracle.look(world.server.view)
    for device in world.devices where !device.apps.isEmpty { world.look(at: device) }
    world.history.add("server: lost, and restored from its backup", at: world.now)
    world.closeServerObserver()
    world.stopServer()
    // The copy replaces the database. The history file beside it stays, or is lost with the disk.
    var files: TextMap = [SimulatedServer.file: backup.content]
    if world.server.keepsHistoryFile {
      files[SimulatedHistoryFile.name] =
        world.disk.image(of: SimulatedServer.machine).files[SimulatedHistoryFile.name]
    }
    world.disk.restore(.init(files: files), on: SimulatedServer.machine)
    world.server.lastOfLostHistory = world.messages
    world.oracle.restoredServer(
      to: backup.memory,
      devices: world.devices.map { device in
        .init(
          device: device.machine, user: world.userID(of: device), view: device.view,
          deletions: device.apps.isEmpty ? [:] : world.rememberedDeletions(of: device))
      })
    if world.plan.retention.map({ $0.devices < .seconds(Self.day / 1000) }) == true { world.oracle.gaveUp() }
    world.server.view = backup.memory.view
    var chance = Chance(seed: world.seed, UInt64(world.now & 0xFFFF_FFFF))
    world.timeline.add(.startServer, at: world.now + chance.number(in: 1...4000))
  }

  /// Lets time pass until the recovery period of the devices' zones has ended.
  func passHolds(sync: (SimulatedDevice) -> Void) {
    guard world.devices.contains(where: { !$0.view.held.isEmpty }) else { return }
    // A clock that was set back does not advance until time has caught up.
    let machine = SimulatedServer.machine
    world.clocks[machine, default: 0] += max(0, world.latestServerTime - world.time(on: machine))
    age(Self.holding)
    for device in world.devices { sync(device) }
  }
}
