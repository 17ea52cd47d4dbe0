import HoldfastService

/// The mark next to a database, which states how far its history has gone: docs/RESTORING.md, section 6.
package struct HistoryMark: Equatable, Sendable {
  /// The fixed size of a mark in bytes. A new mark overwrites the old one in place, within one disk sector.
  package static let size = 512
  /// The maximum number of earlier runs. Together with the other parts they always fit into `size`.
  private static let earlierLimit = 9

  /// A run, and the database's number of commits at its end.
  package struct Run: Equatable, Sendable {
    package var id: String
    package var commits: Int64
  }

  /// The last run that served the database, and its commits so far. The id is empty before the first run.
  package var run = Run(id: "", commits: 0)
  /// The epoch of that run.
  package var epoch = ""
  /// The run that is about to begin.
  package var next = ""
  /// The earlier runs, the latest first.
  package private(set) var earlier: [Run] = []

  /// The encoded mark.
  package var bytes: [UInt8] {
    var text = "holdfast history 1 epoch=" + epoch + " next=" + next + " runs="
    for (index, run) in ([run] + earlier).enumerated() {
      text += (index == 0 ? "" : ",") + run.id + ":" + String(run.commits)
    }
    var bytes = Array(text.utf8.prefix(Self.size - 1))
    bytes += [UInt8](repeating: UInt8(ascii: " "), count: Self.size - 1 - bytes.count)
    bytes.append(UInt8(ascii: "\n"))
    return bytes
  }

  package init() {}

  /// Parses a mark; nil for other bytes.
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

  /// Makes a run the current one. The previous run and its commits become the latest of `earlier`.
  package mutating func begin(_ run: Run, in epoch: String) {
    if !self.run.id.isEmpty { earlier = Array(([self.run] + earlier).prefix(Self.earlierLimit)) }
    (self.run, self.epoch, next) = (run, epoch, "")
  }

  /// Whether a server has served a database in a directory.
  static func isLeft(in directory: DataDirectory) throws -> Bool {
    try SystemHistoryFile(directory).read().flatMap(HistoryMark.init)?.run.id.isEmpty == false
  }

  /// Whether a database's state was served here: it is at a moment of a known run, and no other server has written to it since.
  func hasServed(_ found: Run) -> Bool {
    ([run] + earlier).contains { $0.id == found.id && found.commits <= $0.commits }
  }
}

/// The storage of a mark.
package protocol HistoryFile: AnyObject {
  /// The bytes; nil without a file.
  func read() throws -> [UInt8]?
  /// Overwrites the bytes. Creates a missing file, accessible only to its owner.
  ///
  /// - Parameter isSynced: whether the bytes and the file's name are on disk when this returns.
  func write(_ bytes: [UInt8], isSynced: Bool) throws
}

/// The result of comparing a database with its mark.
package enum HistoryVerdict: Equatable {
  /// The database has everything that was served.
  case same
  /// The history of the database went back.
  ///
  /// - Parameter isForkKnown: whether nothing was written to it since.
  case wentBack(String, isForkKnown: Bool)

  /// - Parameters:
  ///   - mark: the mark next to the database; nil if it is missing or invalid.
  ///   - found: the history that the database states.
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
