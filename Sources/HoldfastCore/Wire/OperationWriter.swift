/// Encodes the operations of a change set into the bytes that a device seals and sends.
package struct OperationWriter: ~Copyable {
  private var writer = JSONWriter(capacity: 512)

  /// Begins a change set.
  package init() { writer.beginArray() }

  /// The size so far in bytes.
  package var count: Int { writer.count }

  /// Writes one operation.
  ///
  /// - Parameters:
  ///   - kind: what is done.
  ///   - table: the table of the record.
  ///   - id: the record.
  ///   - rev: written for updates and deletes.
  ///   - stamp: when it was done.
  ///   - settings: with bases, which are written for updates.
  ///   - zone: of a create in a table with an explicit zone.
  ///   - unsendable: by column, what is written instead of a value that no message can carry.
  package mutating func write(
    _ kind: RecordOperation.Kind, table: TableSchema, id: String, rev: Int64, stamp: Stamp,
    settings: [RecordOperation.Setting],
    zone: String? = nil, unsendable: [Int: JSONValue] = [:]
  ) {
    writer.beginObject()
    writer.key("op")
    writer.string(kind.rawValue)
    writer.key("table")
    writer.string(table.name)
    writer.key("id")
    writer.string(id)
    if kind != .create {
      writer.key("rev")
      writer.int64(rev)
    }
    writer.key("at")
    writer.string(stamp.text)
    if kind != .delete {
      writer.key("columns")
      writer.beginObject()
      if let zone {
        writer.key("zone")
        writer.string(zone)
      }
      for setting in settings {
        writer.key(named: table.columns[setting.column].name)
        if let other = unsendable[setting.column] {
          writer.rawValue(other.bytes)
        } else {
          writer.value(setting.value, of: table.columns[setting.column])
        }
      }
      writer.endObject()
    }
    if kind == .update {
      writer.key("base")
      writer.beginObject()
      for setting in settings {
        guard let base = setting.base else { continue }
        writer.key(named: table.columns[setting.column].name)
        writer.value(base, of: table.columns[setting.column])
      }
      writer.endObject()
    }
    writer.endObject()
  }

  /// Ends the change set and returns its bytes.
  package consuming func finish() -> [UInt8] {
    writer.endArray()
    return writer.bytes
  }
}

extension JSONWriter {
  /// Writes a value of a column. A value of the wrong type, written by another program, keeps its own type, so that the server refuses it
  /// by name and it is not lost.
  package mutating func value(_ value: Value, of column: ColumnSchema) {
    switch (value, column.type) {
    case (.null, _): null()
    case (.integer(let number), .boolean) where number == 0 || number == 1: bool(number == 1)
    case (.integer(let number), _): int64(number)
    case (.real(let number), _): doubleOrNull(number)
    case (.text(let text), .json):
      // A text that is no JSON, or nested too deep for a message, is written as a string.
      if (try? JSONReader.read(text, maximumDepth: ColumnSchema.jsonDepthLimit, { try $0.skipValue() }))
        != nil
      {
        var text = text
        text.withUTF8 { rawValue($0) }
      } else {
        string(text)
      }
    case (.text(let text), _): string(text)
    }
  }
}
