internal import CSQLite

/// A program on a simulated machine, from its start to its end.
struct SimulatedProcess: Hashable, Sendable {
  let machine: String
  /// Counts the processes of all machines since the last reset, from 1.
  let number: Int
}

extension SimulatedDisk {
  /// A call that is about to read or change something.
  struct Step {
    enum Kind: Hashable, Sendable {
      /// `create` is the opening that makes a file, `shmExtend` the mapping that makes a region of shared memory.
      case open, create, exists, list, read, write, truncate, sync, delete, lock, shmMap, shmExtend, shmLock
    }

    let process: SimulatedProcess
    /// Empty for SQLite's temporary files, which have no name.
    let path: String
    let kind: Kind
    /// Bytes to read or write; for a truncation, those that stay.
    let size: Int
  }

  /// What becomes of a step.
  enum Fault: Hashable, Sendable {
    /// It happens.
    case none
    /// It fails with the error that fits. Of a write, some first sectors may have arrived.
    case ioError
    /// There is no room for it: `create`, `write` and `shmExtend` fail, all others happen.
    case full
    /// Its process is killed before it.
    case kill
    /// Its machine loses power before it.
    case crash
  }
}

extension SimulatedDisk.Step.Kind {
  /// What SQLite is told when the step fails. Its header writes these codes in a way that Swift does not import.
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

  /// What SQLite is told when a full disk has no room for the step; nil when it needs none.
  var refusalWhenFull: Int32? {
    switch self {
    case .create: SQLITE_CANTOPEN
    case .write: SQLITE_FULL
    case .shmExtend: SQLITE_IOERR | 19 << 8
    case .open, .exists, .list, .read, .truncate, .sync, .delete, .lock, .shmMap, .shmLock: nil
    }
  }
}
