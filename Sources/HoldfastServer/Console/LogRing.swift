import HoldfastCore
import HoldfastSystem

/// The last lines of the log, for the console. Warnings and errors have a ring of their own, so that requests do not drive them out.
final class LogRing: Sendable {
  /// The number of lines that are kept, and of warnings and errors.
  static let (size, warningSize) = (500, 200)
  /// The bytes of a line that are kept.
  static let lineLimit = 4096

  private struct Lines {
    let size: Int
    var kept: [String] = []
    /// The place of the oldest line, when the ring is full.
    var oldest = 0

    mutating func add(_ line: String) {
      guard kept.count == size else { return kept.append(line) }
      kept[oldest] = line
      oldest = (oldest + 1) % size
    }

    var newestFirst: [String] { Array((kept[oldest...] + kept[..<oldest]).reversed()) }
  }

  private struct Rings {
    var all = Lines(size: LogRing.size)
    var warnings = Lines(size: LogRing.warningSize)
  }

  private let rings = Locked(Rings())

  /// Adds a line, in place of the oldest.
  func add(_ line: String) {
    let line =
      line.utf8.count <= Self.lineLimit
      ? line : String(decoding: line.utf8.prefix(Self.lineLimit), as: UTF8.self)
    // The time comes first, and then the level, which nobody else writes.
    let head = String(decoding: line.utf8.prefix(64), as: UTF8.self)
    let isWarning = head.contains("\"level\":\"warning\"") || head.contains("\"level\":\"error\"")
    rings.withLock { rings in
      rings.all.add(line)
      if isWarning { rings.warnings.add(line) }
    }
  }

  /// The lines, the newest first.
  var newestFirst: [String] { rings.withLock { $0.all.newestFirst } }

  /// The warnings and errors, the newest first.
  var warnings: [String] { rings.withLock { $0.warnings.newestFirst } }
}
