import HoldfastCore
import HoldfastSystem

/// The last lines of the log, for the console.
final class LogRing: Sendable {
  /// The number of lines that are kept.
  static let size = 500
  /// The bytes of a line that are kept.
  static let lineLimit = 4096

  private struct Lines {
    var kept: [String] = []
    /// The place of the oldest line, when the ring is full.
    var oldest = 0
  }

  private let lines = Locked(Lines())

  /// Adds a line, in place of the oldest.
  func add(_ line: String) {
    let line =
      line.utf8.count <= Self.lineLimit
      ? line : String(decoding: line.utf8.prefix(Self.lineLimit), as: UTF8.self)
    lines.withLock { lines in
      guard lines.kept.count == Self.size else { return lines.kept.append(line) }
      lines.kept[lines.oldest] = line
      lines.oldest = (lines.oldest + 1) % Self.size
    }
  }

  /// The lines, the newest first.
  var newestFirst: [String] {
    lines.withLock { Array(($0.kept[$0.oldest...] + $0.kept[..<$0.oldest]).reversed()) }
  }
}
