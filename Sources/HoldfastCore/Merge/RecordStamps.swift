/// The last change of a column: its device, time and record revision.
package struct ColumnStamp: Hashable, Sendable {
  /// The record's `rev` after the change.
  package let rev: Int64
  /// The time of the edit.
  package let stamp: Stamp
  /// The server's number of the device; 0 for the server itself.
  package let device: Int64

  /// Whether the value was recovered after a restore. Such a value is older than every edit.
  package var isRecovered: Bool { stamp == .zero && device != 0 }

  /// Creates a column stamp.
  package init(rev: Int64, stamp: Stamp, device: Int64) {
    self.rev = rev
    self.stamp = stamp
    self.device = device
  }
}

/// The column stamps of one record: one for its creation, and one for each column changed since.
///
/// The server stores them as text: `REV.STAMP.DEVICE`, then `;COLUMN=REV.STAMP.DEVICE` for each.
package struct RecordStamps: Hashable, Sendable {
  private struct Change: Hashable {
    let column: String
    var stamp: ColumnStamp
  }

  /// The stamp of the creation. It applies to every column not changed since.
  package let creation: ColumnStamp
  private var changed: [Change] = []

  /// The stamps of a newly created record.
  package init(creation: ColumnStamp) { self.creation = creation }

  /// Parses the form of `text`; nil for any other text.
  package init?(_ text: String) {
    var parts = text.split(separator: ";").makeIterator()
    guard let first = parts.next(), let creation = Self.parse(first) else { return nil }
    self.creation = creation
    while let part = parts.next() {
      let pair = part.split(separator: "=", maxSplits: 1)
      guard pair.count == 2, let stamp = Self.parse(pair[1]) else { return nil }
      changed.append(Change(column: String(pair[0]), stamp: stamp))
    }
  }

  /// The stamp of a column's last change.
  package subscript(column: String) -> ColumnStamp {
    get { changed.first { $0.column == column }?.stamp ?? creation }
    set {
      if let index = changed.firstIndex(where: { $0.column == column }) {
        changed[index].stamp = newValue
      } else {
        changed.append(Change(column: column, stamp: newValue))
      }
    }
  }

  /// The stored form.
  package var text: String {
    changed.reduce(Self.write(creation)) { $0 + ";" + $1.column + "=" + Self.write($1.stamp) }
  }

  private static func write(_ stamp: ColumnStamp) -> String {
    "\(stamp.rev).\(stamp.stamp.text).\(stamp.device)"
  }

  private static func parse(_ text: Substring) -> ColumnStamp? {
    let parts = text.split(separator: ".")
    guard parts.count == 3, let rev = Int64(parts[0]), let stamp = Stamp(parts[1]),
      let device = Int64(parts[2])
    else { return nil }
    return ColumnStamp(rev: rev, stamp: stamp, device: device)
  }
}
