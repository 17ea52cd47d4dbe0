import HoldfastCore
import HoldfastSQLite

/// The checks of a scenario.
extension Stage {
  func expect(_ invariant: String, _ isSo: Bool, _ text: @autoclosure () -> String) {
    if !isSo { world.oracle.report(invariant, "the scenario demands: \(text())") }
  }

  var server: ServerView { world.server.view }

  /// A value on a device; nil if the record is missing or the value is null.
  func value(_ table: String, _ id: String, _ column: String, on device: Int) -> String? {
    self[device].view.tables[RecordKey(table: table, id: id)]?[column]?.string
  }

  /// A value on the server.
  func value(_ table: String, _ id: String, _ column: String) -> String? {
    server.tables[RecordKey(table: table, id: id)]?[column]?.string
  }

  func rev(_ table: String, _ id: String) -> Int64 {
    server.tables[RecordKey(table: table, id: id)]?.rev ?? 0
  }

  func isThere(_ table: String, _ id: String, on device: Int) -> Bool {
    self[device].view.tables[RecordKey(table: table, id: id)] != nil
  }

  func isThere(_ table: String, _ id: String) -> Bool {
    server.tables[RecordKey(table: table, id: id)] != nil
  }

  /// The losing values in the conflict log.
  var losers: [String] {
    server.tables.filter { $0.key.table == "conflicts" }.compactMap { $0.value["loser_value"]?.string }
      .sorted()
  }

  func isLoser(_ text: String) -> Bool { losers.contains { $0.contains(text) } }

  /// Whether a text is in a device's quarantine.
  func isQuarantined(_ text: String, on device: Int) -> Bool {
    self[device].view.quarantine.contains { $0.body.contains(text) }
  }

  /// The codes of the problems in a device's quarantine.
  func problems(on device: Int) -> [String] {
    self[device].view.quarantine.compactMap {
      (try? JSONValue(parsing: Array($0.problem.utf8)))?["code"]?.stringValue
    }.sorted()
  }

  /// The items of a list in their order on a device.
  func order(of list: String, on device: Int) -> [String] { order(of: list, in: self[device].view.tables) }

  /// The items of a list in their order on the server.
  func order(of list: String) -> [String] { order(of: list, in: server.tables) }

  private func order(of list: String, in tables: Tables) -> [String] {
    tables.filter { $0.key.table == "items" && $0.value["list_id"] == .text(list) }
      .map { (Array(($0.value["position"]?.string ?? "").utf8), $0.key.id) }
      .sorted { $0.0 == $1.0 ? $0.1 < $1.1 : $0.0.lexicographicallyPrecedes($1.0) }.map(\.1)
  }

  /// Expects all quarantines to be empty.
  func expectNoRefusal() {
    for device in world.devices {
      expect(
        "I3", device.view.quarantine.isEmpty,
        "\(device.machine) has nothing in quarantine; it has \(device.view.quarantine.map(\.problem))")
    }
  }

  /// Changes the server's database directly. The oracle accepts the result as given.
  func changeServer(_ sql: String) throws {
    guard let process = world.server.process else { return }
    try world.run(as: process) {
      let connection = try SQLiteConnection(path: SimulatedServer.path, access: .readWrite)
      try connection.execute(sql)
    }
    world.lookAtServer()
    world.oracle.server.view = world.server.view
  }

  /// Syncs all devices until they agree. Also used in the middle of a scenario, to check the state then.
  func settle() {
    calm()
    for device in world.devices { goOnline(device.number) }
    world.startServer()
    release()
    for _ in 0..<40 {
      pass(500)
      let before = world.devices.map(\.view.tables)
      for device in world.devices { sync(device.number) }
      if !world.oracle.violations.isEmpty { return }
      if before == world.devices.map(\.view.tables), world.devices.allSatisfy(\.view.outbox.isEmpty) {
        rest = world.messages
        return
      }
    }
    expect("I7", false, "the devices come to rest")
  }

  /// Checks everything that must hold when all devices have synced. An uninterrupted run heals as the world does.
  func finish() {
    guard world.oracle.violations.isEmpty else { return }
    if rest != world.messages { settle() }
    if interruption == nil { return world.heal() }
    for device in world.devices { world.look(at: device) }
    world.lookAtServer()
    _ = world.oracle.finish(
      devices: world.devices.map {
        FinalDevice(
          device: $0.machine, user: world.userID(of: $0),
          follows: $0.isFollowing ? [Schemas.publicZone] : [], view: $0.view)
      }, server: world.server.view,
      soundness: world.devices.map { Soundness(place: $0.machine, faults: world.soundness(of: $0)) }
        + [Soundness(place: SimulatedServer.machine, faults: world.serverSoundness())])
  }
}
