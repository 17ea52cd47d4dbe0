import HoldfastCore

@testable import HoldfastSimulation

/// A made-up history of an honest system, told to the model step by step; tests break it where they like.
///
/// Ann owns list `l` and has devices `a1` and `a2`, Bob has device `b`. Nothing merges: each test says what the server makes of
/// edits that meet.
final class History {
  struct Device {
    let user: String
    var view = DeviceView()
    var unsent: [[RecordDifference]] = []
    var quarantined: Int64 = 0
  }

  static let rules = ModelRules(
    tables: ["lists", "items", "members", "conflicts"],
    references: [
      .init(table: "items", column: "list_id", target: "lists"),
      .init(table: "items", column: "after_id", target: "items", cascades: false),
    ], pairs: ["items"], publicZones: ["catalogue"])

  let oracle = Oracle(rules: rules)
  var server = ServerView()
  var devices: TextMap = ["a1": Device(user: "ann"), "a2": Device(user: "ann"), "b": Device(user: "bob")]

  /// The list, and an item in it with ~1~, are everywhere.
  init() {
    write("a1") {
      $0[Self.list] = ["zone": .text("l"), "rev": .integer(0), "title": .text("~100~")]
      $0[Self.item] = Self.item("~1~")
    }
    member("ann")
    sync("a1")
    sync("a2")
  }

  static let list = RecordKey(table: "lists", id: "l")
  static let item = RecordKey(table: "items", id: "i")

  /// A new item.
  static func item(_ title: String, in list: String = "l", pair: String? = nil) -> Row {
    [
      "zone": .text(list), "rev": .integer(0), "list_id": .text(list), "after_id": .null,
      "title": .text(title), "pair": pair.map { .text($0) } ?? .null,
      "size": pair == nil ? .null : .integer(2),
    ]
  }

  // MARK: Devices

  /// The app commits a transaction.
  func write(_ device: String, _ edit: (inout Tables) -> Void) {
    guard var here = devices[device] else { return }
    let before = here.view.tables
    edit(&here.view.tables)
    let differences = RecordDifference.between(before, here.view.tables)
    here.unsent.append(differences)
    here.view.outbox.append(Self.body(differences))
    devices[device] = here
    oracle.wrote(device: device, user: here.user, before: before, after: here.view.tables)
  }

  /// Ann shares the list with Bob, who may have accepted that.
  func share(accepted: Bool) {
    let key = RecordKey(table: "members", id: "m-bob")
    if accepted { oracle.accepted(key) }
    write("a1") { $0[key] = ["zone": .text("l"), "user": .text("bob")] }
    sync("a1")
  }

  /// The app sets the title of the item.
  func title(_ device: String, _ title: String) {
    write(device) { $0[Self.item]?["title"] = .text(title) }
  }

  /// The server takes all that a device has, and the device all that the server has.
  func sync(_ device: String) {
    send(device)
    receive(device)
  }

  /// The server takes all that a device has; the answer is lost.
  func send(_ device: String) {
    for differences in devices[device]?.unsent ?? [] {
      for difference in differences { apply(difference) }
    }
    devices[device]?.unsent = []
    answer(device)
  }

  /// The server drops what a device sends.
  func drop(_ device: String) { devices[device]?.unsent = [] }

  /// The server has answered a device.
  func answer(_ device: String, zones: [String] = []) {
    oracle.answered(user: devices[device]?.user ?? "", zones: zones, server: server)
  }

  /// The device takes what the server has.
  func receive(_ device: String) {
    guard var here = devices[device] else { return }
    let zones = server.zones(of: here.user)
    here.view.tables = server.tables.filter { zones.contains($0.value.zone ?? "") }
    here.view.outbox = []
    here.view.edits = []
    devices[device] = here
    show(device)
  }

  /// The server refuses the first change set that waits.
  func refuse(_ device: String, resetting title: String) {
    guard var here = devices[device] else { return }
    here.quarantined += 1
    here.view.quarantine.append(
      .init(number: here.quarantined, body: here.view.outbox.removeFirst(), problem: "{}"))
    here.unsent.removeFirst()
    here.view.tables[Self.item]?["title"] = .text(title)
    devices[device] = here
    show(device)
  }

  /// The device shows what it has after an answer.
  func show(_ device: String, _ change: (inout DeviceView) -> Void = { _ in }) {
    guard var here = devices[device] else { return }
    change(&here.view)
    devices[device] = here
    oracle.applied(device: device, user: here.user, view: here.view)
  }

  // MARK: The server

  /// The server writes a record.
  func put(_ key: RecordKey, _ row: Row) {
    var row = row
    let zone = row.zone ?? ""
    row["rev"] = .integer((server.tables[key]?.rev ?? tombstone(key)?.rev ?? 0) + 1)
    server.tombstones.removeAll { $0.key == key }
    server.seqs[key] = next(zone)
    server.tables[key] = row
  }

  /// The server removes a record.
  func remove(_ key: RecordKey) {
    guard let row = server.tables.removeValue(forKey: key), let zone = row.zone else { return }
    server.seqs[key] = nil
    server.tombstones.append(.init(key: key, zone: zone, seq: next(zone), rev: row.rev + 1))
  }

  /// The server sets the title of the item.
  func serverTitle(_ title: String) {
    guard var row = server.tables[Self.item] else { return }
    row["title"] = .text(title)
    put(Self.item, row)
  }

  /// The server logs a conflict about the title of the item.
  func log(_ id: String, loser: String, winner: String? = nil, of key: RecordKey = item) {
    put(
      RecordKey(table: "conflicts", id: id),
      [
        "zone": .text("l"), "record_table": .text(key.table), "record_id": .text(key.id),
        "column_name": .text("title"), "policy": .text(winner == nil ? "delete" : "latest"),
        "loser_value": .text("\"\(loser)\""), "winner_value": winner.map { .text("\"\($0)\"") } ?? .null,
      ])
  }

  /// The server makes somebody a member of the list.
  func member(_ user: String) {
    put(RecordKey(table: "members", id: "m-\(user)"), ["zone": .text("l"), "user": .text(user)])
  }

  private func next(_ zone: String) -> Int64 {
    let seq = (server.zones[zone]?.seq ?? 0) + 1
    server.zones[zone] = .init(seq: seq)
    return seq
  }

  private func tombstone(_ key: RecordKey) -> ServerView.Tombstone? {
    server.tombstones.first { $0.key == key }
  }

  private func apply(_ difference: RecordDifference) {
    guard let new = difference.new else { return remove(difference.key) }
    guard var row = server.tables[difference.key] else {
      // An update of what is gone has no effect.
      if difference.isCreate { put(difference.key, new) }
      return
    }
    for column in difference.columns { row[column.name] = column.new }
    put(difference.key, row)
  }

  // MARK: The end

  /// The invariants that the model finds broken up to now.
  var broken: [String] { oracle.violations.map(\.invariant) }

  /// Everybody takes what the server has; gives the invariants that the model finds broken.
  func end(_ users: [String] = ["a1", "a2"], _ soundness: [Soundness] = []) -> [String] {
    for device in users { receive(device) }
    return finish(users, soundness)
  }

  /// The devices stay as they are; gives the invariants that the model finds broken.
  func finish(_ users: [String] = ["a1", "a2"], _ soundness: [Soundness] = []) -> [String] {
    let final = users.compactMap { name in
      devices[name].map { FinalDevice(device: name, user: $0.user, view: $0.view) }
    }
    return oracle.finish(devices: final, server: server, soundness: soundness).map(\.invariant)
  }

  /// The bytes of a change set, as the product writes it.
  private static func body(_ differences: [RecordDifference]) -> String {
    let operations = differences.map { difference in
      let kind = difference.isCreate ? "create" : difference.isDelete ? "delete" : "update"
      let columns = difference.columns.compactMap { column in
        column.new.map { "\"\(column.name)\": \($0)" }
      }
      let key = difference.key
      return """
        {"op": "\(kind)", "table": "\(key.table)", "id": "\(key.id)", "columns": {\(columns.joined(separator: ", "))}}
        """
    }
    return "[\(operations.joined(separator: ", "))]"
  }
}
