/// What is kept beside a database of how far its history has gone: docs/RESTORING.md, section 6.
package struct HistoryMark: Equatable, Sendable {
  /// How many bytes the text of a mark has, whatever it says: it is written in place of the one before.
  package static let size = 128

  /// The run that served the database last; empty before the first.
  var run = ""
  /// How many commits the database had then.
  var commits: Int64 = 0
  /// The epoch that was served.
  var epoch = ""
  /// The run that is about to begin.
  var next = ""

  /// The mark as bytes.
  var bytes: [UInt8] {
    let text = "holdfast history 1 run=\(run) commits=\(commits) epoch=\(epoch) next=\(next)"
    let padding = String(repeating: " ", count: max(0, Self.size - 1 - text.utf8.count))
    return Array("\(text)\(padding)\n".utf8)
  }

  init() {}

  /// Reads a mark; nil for bytes that are none.
  init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.size, let text = String(validating: bytes, as: UTF8.self) else { return nil }
    let words = text.split { $0 == " " || $0 == "\n" }
    guard words.count == 7, words.prefix(3) == ["holdfast", "history", "1"] else { return nil }
    func value(_ index: Int, _ name: String) -> String? {
      words[index].hasPrefix("\(name)=") ? String(words[index].dropFirst(name.count + 1)) : nil
    }
    guard let run = value(3, "run"), let commits = value(4, "commits").flatMap({ Int64($0) }),
      let epoch = value(5, "epoch"), let next = value(6, "next")
    else { return nil }
    (self.run, self.commits, self.epoch, self.next) = (run, commits, epoch, next)
  }
}

/// Where a mark is kept.
package protocol HistoryFile: AnyObject {
  /// The bytes; nil when there is no file.
  func read() throws -> [UInt8]?
  /// Writes the bytes in the place of those before; makes the file, readable by its owner alone, when there is none.
  ///
  /// - Parameter isSynced: whether they are on disk, and so is the file's name, when this returns.
  func write(_ bytes: [UInt8], isSynced: Bool) throws
}

/// What the comparison of a database with its mark comes to.
enum HistoryVerdict: Equatable {
  /// Nothing is missing that a server has served.
  case same
  /// The database is not where its history was.
  ///
  /// - Parameter isForkKnown: whether nothing was written to it since.
  case wentBack(String, isForkKnown: Bool)

  /// - Parameters:
  ///   - mark: what is kept beside the database; nil when that is missing or can't be read.
  ///   - found: what the database says of itself.
  init(_ mark: HistoryMark?, _ found: SQLiteHistory) {
    guard let run = found.run else {
      self =
        mark?.epoch == found.epoch && mark?.run.isEmpty == false
        ? .wentBack("It is a copy from before the first start in its epoch.", isForkKnown: true) : .same
      return
    }
    guard let mark else {
      self = .wentBack("It came without the file holdfast.history that belongs to it.", isForkKnown: true)
      return
    }
    guard mark.run == run || mark.next == run else {
      // With more commits it was served elsewhere, in the same epoch.
      self = .wentBack(
        "Another server has used it since, or it is older than the last start here.",
        isForkKnown: found.commits <= mark.commits)
      return
    }
    self =
      found.commits >= mark.commits
      ? .same
      : .wentBack("It has \(found.commits) commits, and \(mark.commits) were served.", isForkKnown: true)
  }
}
