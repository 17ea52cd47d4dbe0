internal import CSQLite

/// A process on a simulated machine.
struct SimulatedProcess: Hashable, Sendable {
  let machine: String
  /// The number among the processes of all machines since the last reset, from 1.
  let number: Int
}

extension SimulatedDisk {
  /// A call that is about to read or change something.
  struct Step {
    enum Kind: Hashable, Sendable {
      /// `create` opens a new file; `shmExtend` maps a new region of shared memory.
      case open, create, exists, list, read, write, truncate, sync, delete, lock, shmMap, shmExtend, shmLock
    }

    let process: SimulatedProcess
    /// Empty for SQLite's temporary files, which have no name.
    let path: String
    let kind: Kind
    /// The number of bytes to read or write; for a truncation, the remaining size.
    let size: Int
  }

  /// The decision on a step.
  enum Fault: Hashable, Sendable {
    /// It happens.
    case none
    /// It fails with the appropriate error. The first sectors of a write may have reached the disk.
    case ioError
    /// The disk is full: `create`, `write` and `shmExtend` fail, all others happen.
    case full
    /// Its process is killed before it.
    case kill
    /// Its machine loses power before it.
    case crash
  }
}

extension SimulatedDisk.Step.Kind {
  /// Whether it changes more than the bytes of a file.
  var changesNames: Bool { [.create, .truncate, .delete].contains(self) }

  /// SQLite's error code for a failed step. Swift does not import the macros that define these codes.
  var failure: Int32 {
    switch self {
    case .open, .create: SQLITE_CANTOPEN
    case .read, .list: SQLITE_IOERR | 1 << 8
    case .write: SQLITE_IOERR | 3 << 8
    case .sync: SQLITE_IOERR | 4 << 8
    case .truncate: SQLITE_IOERR | 6 << 8
    case .delete: SQLITE_IOERR | 10 << 8
    case .exists: SQLITE_IOERR | 13 << 8
    case .lock: SQLITE_IOERR | 15 << 8
    case .shmLock: SQLITE_IOERR | 20 << 8
    case .shmMap, .shmExtend: SQLITE_IOERR | 21 << 8
    }
  }

  /// SQLite's error code for a step on a full disk; nil if the step needs no space.
  var refusalWhenFull: Int32? {
    switch self {
    case .create: SQLITE_CANTOPEN
    case .write: SQLITE_FULL
    case .shmExtend: SQLITE_IOERR | 19 << 8
    case .open, .exists, .list, .read, .truncate, .sync, .delete, .lock, .shmMap, .shmLock: nil
    }
  }
}
