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

  /// Whether the device made the change itself, and before an edit of its own with this stamp. A later change was made over REST, while the edit waited
  /// on the device; a recovered value may be another device's.
  package func isBy(_ device: Int64, upTo stamp: Stamp) -> Bool {
    self.device == device && self.stamp <= stamp && !isRecovered
  }

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
    var text = text
    let parsed = text.withUTF8 { bytes -> (ColumnStamp, [Change])? in
      var rest = bytes[...]
      guard let creation = Self.read(&rest) else { return nil }
      var changed: [Change] = []
      while !rest.isEmpty {
        guard rest.popFirst() == UInt8(ascii: ";"), let end = rest.firstIndex(of: UInt8(ascii: "="))
        else { return nil }
        let column = String(decoding: rest[..<end], as: UTF8.self)
        rest = rest[(end + 1)...]
        guard let stamp = Self.read(&rest) else { return nil }
        changed.append(Change(column: column, stamp: stamp))
      }
      return (creation, changed)
    }
    guard let parsed else { return nil }
    (creation, changed) = parsed
  }

  /// Whether a text has the stamps of a record with this `rev`: none is of a later one.
  package static func isSound(_ text: String, rev: Int64) -> Bool {
    guard let stamps = RecordStamps(text) else { return false }
    return rev > 0 && stamps.creation.rev <= rev && stamps.changed.allSatisfy { $0.stamp.rev <= rev }
  }

  /// Whether no other device has changed the record, and this one not after `stamp`.
  package func isOnly(of device: Int64, upTo stamp: Stamp) -> Bool {
    creation.isBy(device, upTo: stamp) && changed.allSatisfy { $0.stamp.isBy(device, upTo: stamp) }
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

  /// The same in another database, whose devices have other numbers: made by none, and not later than its clock.
  package func moved(at now: Stamp) -> RecordStamps {
    func moved(_ stamp: ColumnStamp) -> ColumnStamp {
      ColumnStamp(rev: stamp.rev, stamp: min(stamp.stamp, now), device: 0)
    }
    var stamps = RecordStamps(creation: moved(creation))
    stamps.changed = changed.map { Change(column: $0.column, stamp: moved($0.stamp)) }
    return stamps
  }

  /// The stored form.
  package var text: String {
    var text = ""
    Self.write(creation, to: &text)
    for change in changed {
      text += ";"
      text += change.column
      text += "="
      Self.write(change.stamp, to: &text)
    }
    return text
  }

  private static func write(_ stamp: ColumnStamp, to text: inout String) {
    text += String(stamp.rev)
    text += "."
    text += stamp.stamp.text
    text += "."
    text += String(stamp.device)
  }

  private typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

  /// Takes a stamp from the beginning of a text.
  private static func read(_ bytes: inout Bytes) -> ColumnStamp? {
    guard let rev = readNumber(&bytes), bytes.popFirst() == UInt8(ascii: "."),
      let stamp = Stamp(utf8: bytes.prefix(16))
    else { return nil }
    bytes = bytes.dropFirst(16)
    guard bytes.popFirst() == UInt8(ascii: "."), let device = readNumber(&bytes) else { return nil }
    return ColumnStamp(rev: rev, stamp: stamp, device: device)
  }

  /// Takes a number from the beginning of a text.
  private static func readNumber(_ bytes: inout Bytes) -> Int64? {
    var number: Int64 = 0
    let count = bytes.count
    while let digit = bytes.first.map({ $0 &- UInt8(ascii: "0") }), digit < 10 {
      let (product, isTooLarge) = number.multipliedReportingOverflow(by: 10)
      let (sum, isBeyond) = product.addingReportingOverflow(Int64(digit))
      if isTooLarge || isBeyond { return nil }
      number = sum
      bytes.removeFirst()
    }
    return bytes.count < count ? number : nil
  }
}
