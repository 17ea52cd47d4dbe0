import HoldfastCore
import HoldfastService

/// A row of `ConsoleQuery.places`: where a record is, or was.
struct ConsolePlace {
  let table: String
  let zone: String
  let seq: Int64
  let rev: Int64
  let state: RecordPlace.State
  let stamps: RecordStamps?
  /// When the record was deleted, or left the zone, in milliseconds since 1970; 0 if that is not known.
  let goneAt: Int64
  let goneBy: Int64

  init(_ row: [String?]) {
    (table, zone, seq, rev) = (row[0] ?? "", row[1] ?? "", row.integer(2), row.integer(3))
    state = RecordPlace.State(rawValue: row.integer(4)) ?? .departed
    stamps = row[5].flatMap { RecordStamps($0) }
    (goneAt, goneBy) = (Stamp(rawValue: row.integer(6)).milliseconds, row.integer(7))
  }
}

extension ConsoleAnswers {
  /// `GET records/ID`: where a record is and was, who changed which column last, its conflicts; and why a device does not show it.
  func record(_ id: String, device: String?) throws -> JSONValue {
    let places = try reader.rows(.places(record: id, limit: Console.pageSize)).map { ConsolePlace($0) }
    let shown = try device.map { try self.known($0) }
    let conflicts = try conflicts(reader.rows(.conflictsOfRecord(id, limit: Console.pageSize)))
    let changes = places.flatMap { self.changes(of: $0) }
    let devices = try devices(numbered: changes.map(\.device))
    let names = try names(of: devices.values.map(\.user) + [shown?.user ?? ""])
    return [
      "id": .string(id),
      "answer": try shown.map { .string(try self.answer(places, $0, names)) } ?? .null,
      "places": .array(
        places.map { place in
          [
            "table": .string(place.table), "zone": .string(place.zone), "seq": .integer(place.seq),
            "rev": .integer(place.rev), "state": .string("\(place.state)"),
          ]
        }),
      "changes": .array(
        changes.sorted { $0.at > $1.at }.map { change in
          [
            "table": .string(change.table), "what": .string(change.what), "at": .time(change.at),
            "device": devices[change.device].map { ["id": .string($0.id), "name": .string($0.name)] }
              ?? .null,
            "user": devices[change.device].map { user($0.user, names) } ?? .null,
          ]
        }),
      "conflicts": .array(conflicts),
    ]
  }

  private typealias Change = (table: String, what: String, at: Int64, device: Int64)

  /// The creation, the last change of each column, and the end.
  private func changes(of place: ConsolePlace) -> [Change] {
    guard let stamps = place.stamps else {
      return [
        (
          place.table, place.state == .deleted ? "deleted" : "moved to another zone", place.goneAt,
          place.goneBy
        )
      ]
    }
    let columns = schema.tables.first { $0.name == place.table }?.columns.map(\.name) ?? []
    func change(_ what: String, _ stamp: ColumnStamp) -> Change {
      (
        place.table, stamp.isRecovered ? "\(what), recovered after a restore" : what,
        stamp.stamp.milliseconds, stamp.device
      )
    }
    return [change("created", stamps.creation)]
      + columns.filter { stamps[$0] != stamps.creation }.map { change("changed \($0)", stamps[$0]) }
  }

  /// Why a device does not show a record, in one sentence: the first cause in the order of docs/CONSOLE.md, section 4.
  private func answer(
    _ places: [ConsolePlace], _ device: ConsoleDevice, _ names: TextMap<String>
  ) throws -> String {
    let name = names[device.user] ?? device.user
    guard let place = places.first else {
      return
        "The database has no record with this id: it was never sent, it was refused, or it was deleted so long ago that its tombstone is purged."
    }
    if place.state == .deleted {
      let time = place.goneAt == 0 ? "" : " at \(Timestamp.text(milliseconds: place.goneAt))"
      return "The record was deleted\(time), in the zone \(place.zone)."
    }
    guard place.state == .live else {
      return "The record has left the zone \(place.zone), and is in no other: its new place is lost."
    }
    let zone = try zones(named: [place.zone])[place.zone]
    let role = try role(of: device.user, in: place.zone)
    let lag = ZoneLag(
      zone, try reader.rows(.ack(device.number, zone: place.zone)).first.map { ConsoleAck($0) }, role: role,
      epoch: epoch)
    if lag.state == .noAccess {
      return
        "The record is in the zone \(place.zone), and \(name), the device's user, may not read that zone."
    }
    let acked = zone.map { $0.seq - lag.changes } ?? 0
    let isShown = lag.state == .current || lag.state == .behind && acked >= place.seq
    if isShown {
      return
        "The device has acknowledged the record's last change (seq \(place.seq) of the zone \(place.zone)): it has the record, so look in its app."
    }
    if let obstacle = Self.obstacles(of: device).first {
      return
        "The device \(obstacle). It lacks the record's last change (seq \(place.seq) of the zone \(place.zone))."
    }
    let seen = "it was last seen \(Timestamp.text(milliseconds: device.seenAt))"
    if lag.state == .behind {
      return
        "The device \(lag.reason), and the record's last change is \(place.seq): it lacks it until it syncs; \(seen)."
    }
    return "The device \(lag.reason); \(seen)."
  }
}
