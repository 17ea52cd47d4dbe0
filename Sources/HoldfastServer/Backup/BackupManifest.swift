import HoldfastCore
import HoldfastService

/// The header of a backup; docs/RESTORING.md, section 1.
struct BackupManifest {
  enum Engine: String {
    case sqlite, postgres
  }

  /// The version of the file format that this release writes and reads.
  static let form: Int64 = 1

  let engine: Engine
  /// The version of Holdfast's own tables.
  let format: Int64
  let epoch: String
  /// The epochs before it, the latest first, of a PostgreSQL database; that of SQLite has them itself.
  let earlier: [String]
  let schema: SyncSchema
  /// In milliseconds since 1970.
  let takenAt: Int64
  let zones: Int64
  let records: Int64

  init(
    engine: Engine, format: Int64, epoch: String, earlier: [String] = [], schema: SyncSchema, takenAt: Int64,
    zones: Int64, records: Int64
  ) {
    (self.engine, self.format, self.epoch, self.earlier) = (engine, format, epoch, earlier)
    self.schema = schema
    (self.takenAt, self.zones, self.records) = (takenAt, zones, records)
  }

  var json: JSONValue {
    .object([
      .init("form", .integer(Self.form)), .init("engine", .string(engine.rawValue)),
      .init("format", .integer(format)), .init("epoch", .string(epoch)),
      .init("earlier_epochs", .array(earlier.map { .string($0) })), .init("schema", schema.json),
      .init("taken_at", .string(Timestamp.text(milliseconds: takenAt))), .init("zones", .integer(zones)),
      .init("records", .integer(records)),
    ])
  }

  /// Parses a manifest.
  ///
  /// - Throws: `ServerError`: `newer` for an unknown file format, `damaged` if a member is missing.
  init(parsing bytes: [UInt8]) throws {
    let damaged = ServerError(.damaged, "The backup's manifest can't be read.")
    guard let json = try? JSONValue(parsing: bytes), let form = json["form"]?.integerValue else {
      throw damaged
    }
    guard form == Self.form else {
      throw ServerError(
        .newer, "The backup has the form \(form); this version of Holdfast reads \(Self.form).")
    }
    guard let engine = json["engine"]?.stringValue.flatMap(Engine.init),
      let format = json["format"]?.integerValue, let epoch = json["epoch"]?.stringValue,
      let schema = json["schema"].flatMap({ try? SyncSchema(json: $0.bytes) }),
      let takenAt = json["taken_at"]?.stringValue.flatMap({ Timestamp.milliseconds($0) }),
      let zones = json["zones"]?.integerValue, let records = json["records"]?.integerValue
    else { throw damaged }
    self.init(
      engine: engine, format: format, epoch: epoch,
      // Without them no earlier epoch is known.
      earlier: json["earlier_epochs"]?.elements?.compactMap(\.stringValue) ?? [], schema: schema,
      takenAt: takenAt, zones: zones, records: records)
  }
}
