import Foundation
import Holdfast
import HoldfastCore
import HoldfastSQLite

/// Steps that scenarios share.
extension Stage {
  /// The fate of the answers to a device's syncs.
  func answers(to device: Int, _ fate: Fate) {
    self.fate = { [machine = self[device].machine] in
      !$0.isRequest && $0.isSync && $0.message.device.machine == machine ? fate : .passes
    }
  }

  /// The fate of a device's sync requests.
  func requests(of device: Int, _ fate: Fate) {
    self.fate = { [machine = self[device].machine] in
      $0.isRequest && $0.isSync && $0.message.device.machine == machine ? fate : .passes
    }
  }

  /// All messages get through again.
  func calm() { fate = { _ in .passes } }

  /// Has a request arrive with another body.
  func arrive(_ message: Message, body: [UInt8]) {
    let request = TransportRequest(
      method: message.request.method, path: message.request.path, token: message.request.token, body: body)
    world.arrive([
      Message(
        number: message.number, device: message.device, app: message.app, request: request,
        question: message.question)
    ])
  }

  /// Copies the disk of a device to a new one, which is the last of all.
  func clone(_ device: Int) {
    perform(.copy(device: device))
    let number = world.devices.count - 1
    goOffline(number)
    pass(200)
    goOnline(number)
  }

  func pairs(on device: Int) -> Int { self[device].view.tables.keys.count { $0.table == "pairs" } }

  /// The files of staged pages on a device.
  func pageFiles(of device: Int) -> [String] {
    world.disk.paths(on: self[device].machine).filter { $0.contains("-pages/") }.sorted()
  }

  /// Begins a download, of which two answers come; then the device is told nothing more, and has given up.
  func downloadTwoPages(_ device: Int) {
    goOnline(device)
    var answers = 0
    fate = { [machine = self[device].machine] in
      guard !$0.isRequest, $0.isSync, $0.message.device.machine == machine else { return .passes }
      answers += 1
      return answers > 2 ? .isLost : .passes
    }
    sync(device)
    goOffline(device)
    pass(1000)
    calm()
    goOnline(device)
  }

  /// The records are there, as they were made: nothing was done to them twice, and nothing was refused.
  func expectOnce(_ records: [(table: String, id: String)]) {
    for (table, id) in records {
      expect("I1", isThere(table, id), "\(table) \(id) is there")
      expect("I1", rev(table, id) == 1, "\(table) \(id) was written once, not \(rev(table, id)) times")
    }
    expect("I1", losers.isEmpty, "nothing is logged as a conflict")
    expectNoRefusal()
  }

  /// Inserts a run of items after another one, a transaction each; gives their ids.
  @discardableResult
  func insert(_ count: Int, after item: String, in list: String, on device: Int) -> [String] {
    var last = item
    return (0..<count).map { _ in
      let (id, title) = (newID(), token())
      write(device) { db in
        let (left, right) = neighbours(after: last, in: list, on: device, but: nil)
        try db.execute(
          "INSERT INTO items (id, list_id, title, position) VALUES (?, ?, ?, ?)",
          [.text(id), .text(list), .text(title), .text(try db.position(after: left, before: right))])
      }
      last = id
      return id
    }
  }

  /// Puts an item behind another one, or first.
  func move(_ item: String, after other: String?, in list: String, on device: Int) {
    write(device) { db in
      let (left, right) = neighbours(after: other, in: list, on: device, but: item)
      try db.execute(
        "UPDATE items SET position = ? WHERE id = ?",
        [.text(try db.position(after: left, before: right)), .text(item)])
    }
  }

  private func neighbours(
    after item: String?, in list: String, on device: Int, but moved: String?
  ) -> (String?, String?) {
    let order = order(of: list, on: device).filter { $0 != moved }
    let place = item.flatMap { order.firstIndex(of: $0) }.map { $0 + 1 } ?? 0
    func position(_ index: Int) -> String? {
      order.indices.contains(index) ? value("items", order[index], "position", on: device) : nil
    }
    return (position(place - 1), position(place))
  }

  /// Nothing passes through a device's stream any more, and neither side is told.
  func killStream(of device: Int) {
    for app in self[device].apps { app.stream?.isDead = true }
    note("the stream of device\(device) is dead")
  }

  /// The server's process ends, and another begins.
  func restartServer() {
    world.closeServerObserver()
    world.stopServer()
    world.startServer()
    pass(5000)
  }

  /// The epoch of the server's database.
  var epoch: String {
    world.lookAtServer()
    guard let database = world.server.observer?.database else { return "" }
    let rows = try? database.rows("SELECT value FROM holdfast_meta WHERE key = 'epoch'")
    return rows?.first?.first?.string ?? ""
  }

  /// Copies the database and what is beside it, as a snapshot of the volume does.
  ///
  /// - Returns: what is beside it.
  func copyDirectory() -> SimulatedDisk.Image {
    perform(.backUpServer)
    return world.disk.image(of: SimulatedServer.machine)
  }

  /// Puts the copy of the whole directory back: no start can tell it from the directory itself.
  func putBack(_ mark: SimulatedDisk.Image) {
    perform(.restoreServer)
    var files = world.disk.image(of: SimulatedServer.machine).files
    files[SimulatedHistoryFile.name] = mark.files[SimulatedHistoryFile.name]
    world.disk.restore(.init(files: files), on: SimulatedServer.machine)
    pass(5000)
  }

  /// The zones that a device shows as awaiting recovery.
  func awaiting(_ device: Int) -> [String] {
    guard let app = self[device].apps.first else { return [] }
    return world.run(as: app.process) {
      (try? AwaitingRecovery(database: app.database).awaitingZones())?.map(\.zone) ?? []
    }
  }

  /// The records of membership that the server has in a zone.
  func holders(of zone: String) -> [String] {
    server.tables.filter { $0.key.table == "members" && $0.value["zone"]?.string == zone }.map(\.key.id)
  }

  /// Texts wait in a device's quarantine, and nothing else does, for one reason.
  func expectWaiting(_ texts: [String], for code: String, on device: Int = 0) {
    for text in texts { expect("I3", isQuarantined(text, on: device), "\(text) waits in quarantine") }
    let found = problems(on: device)
    expect(
      "I3", found == texts.map { _ in code }, "\(texts.count) change sets wait for \(code), not \(found)")
  }

  /// The server is lost and comes back with what the backup has.
  func restore() {
    perform(.restoreServer)
    pass(5000)
  }

  /// Lets days go by on the server; devices that don't speak meanwhile grow old.
  func age(days: Int64) { Operator(world: world).age(Int64(days) * Operator.day) }

  /// How many tombstones a zone has on the server.
  func tombstones(of zone: String) -> Int {
    world.lookAtServer()
    return server.tombstones.count { $0.zone == zone }
  }

  /// How many zones were answered with a reset so far.
  var resets: Int { world.oracle.resets }

  /// The zones of a device that wait to be resynced.
  func waiting(_ number: Int) -> [String] {
    guard let app = self[number].apps.first else { return [] }
    return world.run(as: app.process) {
      (try? ResetPacing(database: app.database).waitingZones())?.map(\.zone) ?? []
    }
  }

  /// All but one device sync until they have said what they have.
  func settleWithout(_ number: Int) {
    for _ in 0..<3 {
      for device in world.devices where device.number != number { sync(device.number) }
      pass(500)
    }
  }

  /// Gives items codes, in one transaction.
  func giveCodes(_ device: Int, _ codes: Zip2Sequence<[String], [String]>) {
    write(device) { db in
      for (item, code) in codes {
        try db.execute("UPDATE items SET code = ? WHERE id = ?", [.text(code), .text(item)])
      }
    }
  }

  /// Makes a record that owners alone may delete.
  func makeSeal(_ device: Int, of item: String) -> String {
    let (seal, text) = (newID(), token())
    write(device) {
      try $0.execute(
        "INSERT INTO seals (id, item_id, text) VALUES (?, ?, ?)", [.text(seal), .text(item), .text(text)])
    }
    return seal
  }
}
