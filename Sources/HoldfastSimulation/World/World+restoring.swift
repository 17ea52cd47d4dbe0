import HoldfastCore
import HoldfastServer
import HoldfastSQLite

/// Backups of the server's database, and a server that is put back to one.
extension World {
  /// Longer than a device keeps a zone that the restored server does not know it to have.
  private static let holding = 25 * 3_600_000 as Int64

  /// The operator takes a backup, while the server runs.
  ///
  /// Only when everybody has an account, as who signs up again is somebody else.
  func backUpServer() {
    guard let serving = server.process, disk.isAlive(serving), plan.postgres == nil,
      devices.allSatisfy({ $0.hasAccount && !userID(of: $0).isEmpty })
    else { return }
    lookAtServer()
    oracle.look(server.view)
    let process = disk.start(on: SimulatedServer.machine)
    observers.insert(process)
    defer { disk.kill(process) }
    let copy = SimulatedServer.path + ".copy"
    do {
      try run(as: process) {
        try SQLiteConnection(path: SimulatedServer.path, access: .readWrite).backup(to: copy)
        guard let content = disk.read(copy) else { return }
        server.backup = .init(content: content, memory: oracle.server)
        try disk.delete(copy)
      }
      history.add("server: a backup of \(server.backup?.content.count ?? 0) bytes", at: now)
    } catch {
      oracle.report("I2", "the server can not be backed up: \(error)")
    }
  }

  /// The server is lost, and its database is what the backup has.
  func restoreServer() {
    guard let backup = server.backup else { return }
    // One that is down may not have the tables of its version yet.
    if server.inline != nil { lookAtServer() }
    oracle.look(server.view)
    for device in devices where !device.apps.isEmpty { look(at: device) }
    history.add("server: lost, and restored from its backup", at: now)
    closeServerObserver()
    stopServer()
    // The copy is put in the place of the database. What is beside it stays, or is lost with the disk.
    var files: TextMap = [SimulatedServer.file: backup.content]
    if server.keepsHistoryFile {
      files[SimulatedHistoryFile.name] =
        disk.image(of: SimulatedServer.machine).files[SimulatedHistoryFile.name]
    }
    disk.restore(.init(files: files), on: SimulatedServer.machine)
    server.lastOfLostHistory = messages
    oracle.restoredServer(
      to: backup.memory,
      devices: devices.map { device in
        .init(
          device: device.machine, user: userID(of: device), view: device.view,
          deletions: device.apps.isEmpty ? [:] : rememberedDeletions(of: device))
      })
    if plan.retention.map({ $0.devices < .seconds(Self.day / 1000) }) == true { oracle.gaveUp() }
    server.view = backup.memory.view
    var chance = Chance(seed: seed, UInt64(now & 0xFFFF_FFFF))
    timeline.add(.startServer, at: now + chance.number(in: 1...4000))
  }

  /// Lets the time be over for which devices hold zones of which the restored server knows nothing.
  func passHolds(sync: (SimulatedDevice) -> Void) {
    guard devices.contains(where: { !$0.view.held.isEmpty }) else { return }
    // Its clock stands still where it was set back, until the time has caught up.
    let machine = SimulatedServer.machine
    clocks[machine, default: 0] += max(0, latestServerTime - time(on: machine))
    age(Self.holding)
    for device in devices { sync(device) }
  }
}
