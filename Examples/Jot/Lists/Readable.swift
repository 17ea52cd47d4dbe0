import Holdfast

/// A record, or why a row is none: another program may have written what the app does not understand, and one such row must not hide the others.
enum Readable<R: Record>: Decodable, Sendable {
  case record(R)
  case unreadable(id: String, reason: String)

  private enum Key: CodingKey { case id }

  init(from decoder: any Decoder) throws {
    do {
      self = .record(try R(from: decoder))
    } catch {
      self = .unreadable(
        id: try decoder.container(keyedBy: Key.self).decode(String.self, forKey: .id), reason: "\(error)")
    }
  }
}

extension Array {
  /// The records; the other rows are named on the standard error.
  func readable<R>() -> [R] where Element == Readable<R> {
    for row in self {
      if case .unreadable(let id, let reason) = row {
        Terminal.error.say("jot: \(R.table) \(id) can't be read and is left out: \(reason)")
      }
    }
    return records()
  }

  /// The records, without the other rows.
  func records<R>() -> [R] where Element == Readable<R> {
    compactMap { if case .record(let record) = $0 { record } else { nil } }
  }
}
