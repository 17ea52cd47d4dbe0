import Foundation
import Holdfast
import HoldfastCore
import HoldfastSQLite

/// Steps shared by scenarios.
extension Stage {
  /// Sets the fate of the answers to a device's syncs.
  func answers(to device: Int, _ fate: Fate) {
    self.fate = { [machine = self[device].machine] in
      !$0.isRequest && $0.isSync && $0.message.device.machine == machine ? fate : .passes
    }
  }

  /// Sets the fate of a device's sync requests.
  func requests(of device: Int, _ fate: Fate) {
    self.fate = { [machine = self[device].machine] in
      $0.isRequest && $0.isSync && $0.message.device.machine == machine ? fate : .passes
    }
  }

  /// Delivers all messages from now on.
  func calm() { fate = { _ in .passes } }

  /// Delivers a request with another body.
  func arrive(_ message: Message, body: [UInt8]) {
    let request = TransportRequest(
      method: message.request.method, path: message.request.path, token: message.request.token, body: body)
    world.arrive([
      Message(
        number: message.number, device: message.device, app: message.app, request: request,
        question: message.question)
    ])
  }

  /// Copies the disk of a device to a new device, the last one.
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

  /// Begins a download and delivers two answers. Then the device receives no more, and gives up.
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

  /// Expects that the records exist as created: nothing was applied twice or refused.
  func expectOnce(_ records: [(table: String, id: String)]) {
    for (table, id) in records {
      expect("I1", isThere(table, id), "\(table) \(id) is there")
      expect("I1", rev(table, id) == 1, "\(table) \(id) was written once, not \(rev(table, id)) times")
    }
    expect("I1", losers.isEmpty, "nothing is logged as a conflict")
    expectNoRefusal()
  }

  /// Inserts a run of items after another one, one per transaction, and returns their ids.
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

  /// Moves an item after another one, or to the beginning.
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

  /// Silently stops a device's stream: neither side notices.
  func killStream(of device: Int) {
    for app in self[device].apps { app.stream?.isDead = true }
    note("the stream of device\(device) is dead")
  }

  /// Ends the server's process, and starts another.
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

  /// Copies the whole data directory, as a snapshot of the volume does.
  ///
  /// - Returns: the files of the server's machine.
  func copyDirectory() -> SimulatedDisk.Image {
    perform(.backUpServer)
    return world.disk.image(of: SimulatedServer.machine)
  }

  /// Restores the copy of the whole directory. The next start can't distinguish it from the original.
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

  /// The membership records of a zone on the server.
  func holders(of zone: String) -> [String] {
    server.tables.filter { $0.key.table == "members" && $0.value["zone"]?.string == zone }.map(\.key.id)
  }

  /// Expects that a device's quarantine has exactly these texts, all for one reason.
  func expectWaiting(_ texts: [String], for code: String, on device: Int = 0) {
    for text in texts { expect("I3", isQuarantined(text, on: device), "\(text) waits in quarantine") }
    let found = problems(on: device)
    expect(
      "I3", found == texts.map { _ in code }, "\(texts.count) change sets wait for \(code), not \(found)")
  }

  /// Restores the server from its backup.
  func restore() {
    perform(.restoreServer)
    pass(5000)
  }

  /// Days pass on the server. Devices that do not sync meanwhile may expire.
  func age(days: Int64) { Operator(world: world).age(Int64(days) * Operator.day) }

  /// The number of tombstones of a zone on the server.
  func tombstones(of zone: String) -> Int {
    world.lookAtServer()
    return server.tombstones.count { $0.zone == zone }
  }

  /// The number of zones that were answered with a reset so far.
  var resets: Int { world.oracle.resets }

  /// The zones of a device with a postponed resync.
  func waiting(_ number: Int) -> [String] {
    guard let app = self[number].apps.first else { return [] }
    return world.run(as: app.process) {
      (try? ResetPacing(database: app.database).waitingZones())?.map(\.zone) ?? []
    }
  }

  /// Syncs all devices but one until they have sent their acks.
  func settleWithout(_ number: Int) {
    for _ in 0..<3 {
      for device in world.devices where device.number != number { sync(device.number) }
      pass(500)
    }
  }

  /// Sets codes of items in one transaction.
  func giveCodes(_ device: Int, _ codes: Zip2Sequence<[String], [String]>) {
    write(device) { db in
      for (item, code) in codes {
        try db.execute("UPDATE items SET code = ? WHERE id = ?", [.text(code), .text(item)])
      }
    }
  }

  /// Creates a record that only owners may delete.
  func makeSeal(_ device: Int, of item: String) -> String {
    let (seal, text) = (newID(), token())
    write(device) {
      try $0.execute(
        "INSERT INTO seals (id, item_id, text) VALUES (?, ?, ?)", [.text(seal), .text(item), .text(text)])
    }
    return seal
  }
}
