import Glibc
import HoldfastCore
import HoldfastSQLiteStore
import HoldfastService

/// The files beside a snapshot while it is written: `FILE.XXXXXXXX.new`, and those that a build has.
///
/// `FILE.XXXXXXXX.new.lock` is made first and removed last, and is locked in between. The files of a process that was killed are those
/// without a lock. What has no such file is somebody else's.
struct SnapshotDraft {
  /// The path of the file that becomes the snapshot.
  let path: String
  private let lock: Int32

  private static let middle = ".new"
  private static let lockEnding = ".lock"
  private static let endings = ["", "-journal", ".build", ".build-journal", lockEnding]
  /// The number of random bytes in a name.
  private static let nameSize = 4

  /// Removes what killed processes left there, and locks a new name.
  ///
  /// - Parameter target: where the snapshot is to be.
  /// - Throws: `ServerError.unreachable`.
  init(of target: String, random: (Int) -> [UInt8]) throws(ServerError) {
    Self.removeLeftovers(of: target)
    path = "\(target).\(hexadecimal(random(Self.nameSize)))\(Self.middle)"
    lock = open(path + Self.lockEnding, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard lock >= 0 else {
      throw ServerError(.unreachable, "\(target) can't be written: \(systemMessage(errno)).")
    }
    var status = stat()
    // Another process that removes leftovers may have been faster than the lock.
    guard FileLock.set(lock, F_WRLCK) != .held, fstat(lock, &status) == 0, status.st_nlink == 1 else {
      close(lock)
      throw ServerError(.unreachable, "Another snapshot to \(target) has just begun. Run it again.")
    }
  }

  /// Removes the files that are still there.
  func remove() {
    Self.remove(path)
    close(lock)
  }

  private static func remove(_ path: String) { for ending in endings { unlink(path + ending) } }

  private static func removeLeftovers(of target: String) {
    let name = target.lastIndex(of: "/").map { target[target.index(after: $0)...] } ?? target[...]
    let folder = name.startIndex == target.startIndex ? "./" : String(target[..<name.startIndex])
    let (start, end) = (Array("\(name).".utf8), Array((middle + lockEnding).utf8))
    for name in (try? SnapshotCache.names(in: folder)) ?? [] {
      let bytes = Array(name.utf8)
      let digits = bytes.dropFirst(start.count).dropLast(end.count)
      guard bytes.count == start.count + 2 * nameSize + end.count, bytes.starts(with: start),
        bytes.suffix(end.count).elementsEqual(end),
        digits.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
      else { continue }
      removeLeftover("\(folder)\(name)")
    }
  }

  /// Removes the files of a process of this user that has ended.
  private static func removeLeftover(_ path: String) {
    let lock = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    if lock < 0 { return }
    defer { close(lock) }
    var status = stat()
    guard fstat(lock, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size == 0,
      status.st_uid == geteuid(), FileLock.set(lock, F_WRLCK) == .taken
    else { return }
    remove(String(path.dropLast(lockEnding.count)))
  }
}
