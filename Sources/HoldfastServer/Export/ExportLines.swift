import HoldfastCore
import HoldfastService

/// Encodes an export: all tables as JSON Lines, or one table as CSV.
struct ExportLines {
  private let schema: SyncSchema
  private let records: RecordWriter
  private var csv: CSVWriter?
  private var json: [UInt8] = []

  /// - Parameter table: the index of the table to export as CSV; nil for JSON Lines.
  init(_ schema: SyncSchema, table: Int?) {
    self.schema = schema
    records = RecordWriter(schema)
    csv = table.map { CSVWriter(schema.tables[$0]) }
  }

  /// The media type. Source for JSON Lines: <https://jsonlines.org>.
  static func mediaType(_ table: Int?) -> String { table == nil ? "application/jsonl" : "text/csv" }

  var bytes: [UInt8] { csv?.bytes ?? json }

  /// Removes and returns the bytes written since the last call.
  mutating func take() -> [UInt8] {
    defer {
      json = []
      csv?.bytes = []
    }
    return bytes
  }

  /// Writes the head: the column names of CSV, or the user's account data in JSON Lines.
  mutating func writeHead(of user: String, _ store: any StoreReader) throws {
    if csv != nil {
      csv?.writeHeader()
      return
    }
    let devices = try store.devices(of: user, limit: 1000).map { device -> JSONValue in
      let push: JSONValue? = device.pushToken.map {
        ["kind": .string($0.kind), "token": .string($0.token)]
      }
      return [
        "id": .string(device.id), "name": .string(device.name),
        "last_seen_at": .string(Timestamp.text(milliseconds: device.seenAt)), "push_token": push ?? .null,
      ]
    }
    let zones = try store.visibleZones(of: user, publicZones: []).zones.map { zone -> JSONValue in
      ["zone": .string(zone.zone), "role": .string(zone.role)]
    }
    let name = try store.account(id: user)?.name ?? ""
    let head: JSONValue = [
      "account": [
        "id": .string(user), "name": .string(name), "devices": .array(devices), "zones": .array(zones),
      ]
    ]
    json += head.bytes + [UInt8(ascii: "\n")]
  }

  /// Writes a record.
  mutating func write(_ record: StoredRecord) {
    if csv != nil {
      csv?.write(record)
      return
    }
    var writer = JSONWriter()
    records.write(record, created: nil, columns: nil, to: &writer)
    json += writer.bytes
    json.append(UInt8(ascii: "\n"))
  }
}
