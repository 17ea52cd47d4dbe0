import HoldfastService

/// What is kept beside a database of how far its history has gone: docs/RESTORING.md, section 6.
package struct HistoryMark: Equatable, Sendable {
  /// How many bytes the text of a mark has, whatever it says: it is written in place of the one before, within one sector of a disk.
  package static let size = 512
  /// How many earlier runs are remembered: with the rest they fit into the size, whatever their numbers are.
  private static let earlierLimit = 9

  /// A run, and how many commits the database had at its end.
  package struct Run: Equatable, Sendable {
    package var id: String
    package var commits: Int64
  }

  /// The run that served the database last, and its commits so far; its id is empty before the first.
  package var run = Run(id: "", commits: 0)
  /// The epoch that was served.
  package var epoch = ""
  /// The run that is about to begin.
  package var next = ""
  /// The runs before, the last one first.
  package private(set) var earlier: [Run] = []

  /// The mark as bytes.
  package var bytes: [UInt8] {
    let runs = ([run] + earlier).map { "\($0.id):\($0.commits)" }.joined(separator: ",")
    let text = "holdfast history 1 epoch=\(epoch) next=\(next) runs=\(runs)"
    let padding = String(repeating: " ", count: max(0, Self.size - 1 - text.utf8.count))
    return Array("\(text)\(padding)\n".utf8)
  }

  package init() {}

  /// Reads a mark; nil for bytes that are none.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.size, let text = String(validating: bytes, as: UTF8.self) else { return nil }
    let words = text.split { $0 == " " || $0 == "\n" }
    guard words.count == 6, words.prefix(3) == ["holdfast", "history", "1"] else { return nil }
    func value(_ index: Int, _ name: String) -> String? {
      words[index].hasPrefix("\(name)=") ? String(words[index].dropFirst(name.count + 1)) : nil
    }
    guard let epoch = value(3, "epoch"), let next = value(4, "next"), let list = value(5, "runs") else {
      return nil
    }
    let runs = list.split(separator: ",").compactMap { text -> Run? in
      let parts = text.split(separator: ":", omittingEmptySubsequences: false)
      return parts.count == 2 ? Int64(parts[1]).map { Run(id: String(parts[0]), commits: $0) } : nil
    }
    guard let run = runs.first else { return nil }
    (self.epoch, self.next, self.run, earlier) = (epoch, next, run, Array(runs.dropFirst()))
  }

  /// A run has begun; what the file says is that it did, and how far the one before had come.
  package mutating func begin(_ run: Run, in epoch: String) {
    if !self.run.id.isEmpty { earlier = Array(([self.run] + earlier).prefix(Self.earlierLimit)) }
    (self.run, self.epoch, next) = (run, epoch, "")
  }

  /// Whether what a database contains was served here: it is at a moment of an earlier run, and nobody has written to it since.
  func hasServed(_ found: Run) -> Bool {
    ([run] + earlier).contains { $0.id == found.id && found.commits <= $0.commits }
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
package enum HistoryVerdict: Equatable {
  /// Nothing is missing that a server has served.
  case same
  /// The database is not where its history was.
  ///
  /// - Parameter isForkKnown: whether nothing was written to it since.
  case wentBack(String, isForkKnown: Bool)

  /// - Parameters:
  ///   - mark: what is kept beside the database; nil when that is missing or can't be read.
  ///   - found: what the database says of itself.
  package init(_ mark: HistoryMark?, _ found: SQLiteHistory) {
    guard let id = found.run else {
      self =
        mark?.epoch == found.epoch && mark?.run.id.isEmpty == false
        ? .wentBack("It is a copy from before the first start in its epoch.", isForkKnown: true) : .same
      return
    }
    guard let mark else {
      self = .wentBack("It came without the file holdfast.history that belongs to it.", isForkKnown: false)
      return
    }
    let run = HistoryMark.Run(id: id, commits: found.commits)
    if id == mark.next || id == mark.run.id, found.commits >= mark.run.commits {
      self = .same
    } else if id == mark.run.id {
      self = .wentBack(
        "It has \(found.commits) commits, and \(mark.run.commits) were served.", isForkKnown: true)
    } else {
      self = .wentBack(
        "Another server has used it since, or it is older than the last start here.",
        isForkKnown: mark.hasServed(run))
    }
  }
}
