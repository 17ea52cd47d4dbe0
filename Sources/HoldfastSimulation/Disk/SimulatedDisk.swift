internal import CSQLite
import Foundation
import HoldfastCore

/// The in-memory disks of all simulated machines, as an SQLite file system and for plain files.
///
/// A path is `/MACHINE/anything`; folders need not be created. `fault` and `random` decide everything, so the same decisions give the same
/// bytes. The disk and the connections that use it must be used by one thread at a time.
final class SimulatedDisk {
  /// The contents of a machine's disk.
  private final class Machine {
    var files: TextMap<SimulatedFile> = [:]
    /// Deletions that a power failure may undo, oldest first.
    var deletions: [(path: String, file: SimulatedFile)] = []
  }

  /// The process of the current calls. A killed process stays here, and all its steps fail.
  var running: SimulatedProcess?
  /// Called before every step; nil permits all.
  var fault: ((Step) -> Fault)?
  /// The number of steps since the last reset.
  private(set) var steps = 0
  /// The operating system's code of the last step that failed.
  private(set) var lastError: Int32 = 0
  /// The time of a process's machine, in milliseconds since 1970.
  var now: (SimulatedProcess?) -> Int64
  /// Decides the result of a power failure, and seeds SQLite's random generator.
  var random: () -> UInt64

  private var machines: TextMap<Machine> = [:]
  private var processes: [SimulatedProcess: [OpenFile]] = [:]
  private var lastNumber = 0
  /// SQLite's record of this disk while it is registered.
  var registration: UnsafeMutablePointer<sqlite3_vfs>?

  init(now: @escaping (SimulatedProcess?) -> Int64, random: @escaping () -> UInt64) {
    self.now = now
    self.random = random
  }

  /// Clears every machine and kills every process. `now` and `random` stay.
  ///
  /// If this disk is the default, SQLite's generator takes a new seed from `random` at its next use. So a run does not depend on earlier
  /// runs.
  func reset() {
    for handle in processes.values.joined() { handle.die() }
    processes = [:]
    machines = [:]
    lastNumber = 0
    steps = 0
    running = nil
    fault = nil
    sqlite3_randomness(0, nil)
  }
}

// MARK: - Processes

extension SimulatedDisk {
  func start(on machine: String) -> SimulatedProcess {
    lastNumber += 1
    let process = SimulatedProcess(machine: machine, number: lastNumber)
    processes[process] = []
    return process
  }

  func isAlive(_ process: SimulatedProcess) -> Bool { processes[process] != nil }

  /// Kills a process as kill -9 does: its writes stay, its locks are released.
  ///
  /// Its connections fail from then on. Close them before another process is inside a write transaction on the same database. Otherwise
  /// SQLite's rollback would change the WAL index, which both processes share.
  func kill(_ process: SimulatedProcess) {
    for handle in processes.removeValue(forKey: process) ?? [] { handle.die() }
  }

  /// Simulates a power failure of a machine: its processes are killed, and unsynced data is arbitrary.
  func crash(machine name: String) {
    killAll(on: name)
    guard let machine = machines[name] else { return }
    // The order of a dictionary differs between runs of this program.
    for (path, file) in machine.files.sorted(by: { $0.key < $1.key }) {
      if !file.nameIsDurable, random() & 1 == 0 { machine.files[path] = nil }
    }
    for (path, file) in machine.deletions.reversed() where machine.files[path] == nil {
      if random() & 1 == 0 { machine.files[path] = file }
    }
    machine.deletions = []
    for (_, file) in machine.files.sorted(by: { $0.key < $1.key }) {
      file.losePower(random)
      file.nameIsDurable = true
    }
  }

  func killAll(on machine: String) {
    for process in processes.keys where process.machine == machine { kill(process) }
  }

  func adopt(_ handle: OpenFile) { processes[handle.process]?.append(handle) }

  func purge(_ handle: OpenFile) { processes[handle.process]?.removeAll { $0 === handle } }
}

// MARK: - Steps

extension SimulatedDisk {
  /// Counts a step and determines its fault: nil if it may happen, otherwise SQLite's error.
  func refusal(of kind: Step.Kind, path: String, size: Int, for process: SimulatedProcess) -> Int32? {
    steps += 1
    guard let fault else { return nil }
    switch fault(Step(process: process, path: path, kind: kind, size: size)) {
    case .none: break
    case .ioError:
      lastError = EIO
      return kind.failure
    case .full:
      if kind.refusalWhenFull != nil { lastError = ENOSPC }
      return kind.refusalWhenFull
    case .kill: kill(process)
    case .crash: crash(machine: process.machine)
    }
    // The closure may have killed the process itself.
    return isAlive(process) ? nil : SQLITE_IOERR
  }

  /// The part of a failed write that reaches the disk: none, some or all of its first sectors.
  func arrivingPart(of bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    let sectors = bytes.count / SimulatedFile.sector + 1
    let count = Int(random() % UInt64(sectors + 1)) * SimulatedFile.sector
    return UnsafeRawBufferPointer(rebasing: bytes.prefix(count))
  }
}

// MARK: - Names

extension SimulatedDisk {
  /// The machine in a path `/MACHINE/anything`; nil for any other path.
  static func machine(of path: String) -> String? {
    guard path.hasPrefix("/") else { return nil }
    let parts = path.dropFirst().split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else { return nil }
    return String(parts[0])
  }

  /// The part of a path up to its last slash, inclusive.
  private static func folder(of path: String) -> Substring {
    path[...(path.lastIndex(of: "/") ?? path.startIndex)]
  }

  func file(at path: String) -> SimulatedFile? {
    Self.machine(of: path).flatMap { machines[$0]?.files[path] }
  }

  /// Creates an empty file, whose name is not durable yet.
  func makeFile(at path: String, on machine: String) -> SimulatedFile {
    let file = SimulatedFile()
    let owner = machines[machine] ?? Machine()
    machines[machine] = owner
    owner.files[path] = file
    return file
  }

  /// Removes a name. Open handles keep the file.
  func unlink(_ path: String, durably: Bool) {
    guard let name = Self.machine(of: path), let machine = machines[name],
      let file = machine.files.removeValue(forKey: path)
    else { return }
    machine.deletions.append((path, file))
    if durably { syncFolder(of: path) }
  }

  /// Syncs a file.
  ///
  /// File systems have a journal of names and sizes. A sync that must write one of them also writes earlier changes of names in the same
  /// folder. A sync of bytes in place does not.
  func sync(_ file: SimulatedFile, path: String) {
    let isInPlace = file.nameIsDurable && !file.sizeChanged
    file.sync()
    file.nameIsDurable = true
    if !isInPlace { syncFolder(of: path) }
  }

  private func syncFolder(of path: String) {
    guard let name = Self.machine(of: path), let machine = machines[name] else { return }
    let folder = Self.folder(of: path)
    machine.deletions.removeAll { Self.folder(of: $0.path) == folder }
  }

  /// The paths of a machine's files.
  func paths(on machine: String) -> [String] { (machines[machine]?.files.keys).map(Array.init) ?? [] }

  func removeAllFiles(on machine: String) { machines[machine] = nil }
}
