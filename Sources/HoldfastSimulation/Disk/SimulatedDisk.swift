internal import CSQLite
import HoldfastCore

/// The disks of all simulated machines, in memory, as SQLite's file system and for plain files.
///
/// A path is `/MACHINE/anything`; folders need not be made. Everything is decided by `fault` and `random`: the same answers
/// give the same bytes. For one thread at a time, and so are the connections that it carries.
final class SimulatedDisk {
  /// What one machine's disk holds.
  private final class Machine {
    var files: TextMap<SimulatedFile> = [:]
    /// Deletions that a loss of power may undo, oldest first.
    var deletions: [(path: String, file: SimulatedFile)] = []
  }

  /// On whose behalf calls are made now; a process stays here when it is killed, and is refused everything.
  var running: SimulatedProcess?
  /// Asked before every step; nil lets all happen.
  var fault: ((Step) -> Fault)?
  /// How many steps were asked for since the last reset.
  private(set) var steps = 0
  /// Milliseconds since 1970 by the clock of a process's machine.
  var now: (SimulatedProcess?) -> Int64
  /// Decides what a loss of power leaves, and seeds SQLite's own generator.
  var random: () -> UInt64

  private var machines: TextMap<Machine> = [:]
  private var processes: [SimulatedProcess: [OpenFile]] = [:]
  private var lastNumber = 0
  /// SQLite's record of this disk, while it is registered.
  var registration: UnsafeMutablePointer<sqlite3_vfs>?

  init(now: @escaping (SimulatedProcess?) -> Int64, random: @escaping () -> UInt64) {
    self.now = now
    self.random = random
  }

  /// Empties every machine and kills every process; `now` and `random` stay.
  ///
  /// SQLite's generator takes a new seed from `random` at its next use, if this disk is the default: a run depends on nothing
  /// that was before it.
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

  /// Ends a process as kill -9 does: what it wrote stays, its locks are gone.
  ///
  /// Its connections fail from now on. Close them before another process is in the middle of a write transaction
  /// on the same database: when SQLite rolls back, it tidies the WAL index, whose memory the two share.
  func kill(_ process: SimulatedProcess) {
    for handle in processes.removeValue(forKey: process) ?? [] { handle.die() }
  }

  /// Takes a machine's power: its processes are gone, and of what was not synced anything may be.
  func crash(machine name: String) {
    killAll(on: name)
    guard let machine = machines[name] else { return }
    // A dictionary has another order in every process of ours.
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
  /// Counts a step and asks for its fault: nil when it may happen, otherwise what SQLite is told.
  func refusal(of kind: Step.Kind, path: String, size: Int, for process: SimulatedProcess) -> Int32? {
    steps += 1
    guard let fault else { return nil }
    switch fault(Step(process: process, path: path, kind: kind, size: size)) {
    case .none: break
    case .ioError: return kind.failure
    case .full: return kind.refusalWhenFull
    case .kill: kill(process)
    case .crash: crash(machine: process.machine)
    }
    // The closure may have killed it by itself.
    return isAlive(process) ? nil : SQLITE_IOERR
  }

  /// What is on the disk of a write that failed: none, some or all of its sectors, from the first on.
  func arrivingPart(of bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    let sectors = bytes.count / SimulatedFile.sector + 1
    let count = Int(random() % UInt64(sectors + 1)) * SimulatedFile.sector
    return UnsafeRawBufferPointer(rebasing: bytes.prefix(count))
  }
}

// MARK: - Names

extension SimulatedDisk {
  /// The machine of a path `/MACHINE/anything`; nil when it is not such a path.
  static func machine(of path: String) -> String? {
    guard path.hasPrefix("/") else { return nil }
    let parts = path.dropFirst().split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else { return nil }
    return String(parts[0])
  }

  /// Everything before a path's last part, with the slash.
  private static func folder(of path: String) -> Substring {
    path[...(path.lastIndex(of: "/") ?? path.startIndex)]
  }

  func file(at path: String) -> SimulatedFile? {
    Self.machine(of: path).flatMap { machines[$0]?.files[path] }
  }

  /// Makes an empty file, whose name is not durable yet.
  func makeFile(at path: String, on machine: String) -> SimulatedFile {
    let file = SimulatedFile()
    let owner = machines[machine] ?? Machine()
    machines[machine] = owner
    owner.files[path] = file
    return file
  }

  /// Takes a name away; who has the file open keeps it.
  func unlink(_ path: String, durably: Bool) {
    guard let name = Self.machine(of: path), let machine = machines[name],
      let file = machine.files.removeValue(forKey: path)
    else { return }
    machine.deletions.append((path, file))
    if durably { syncFolder(of: path) }
  }

  /// Makes durable what is in a file.
  ///
  /// File systems keep a journal of names and sizes: a sync that must write one of them writes with it what happened to the
  /// folder's names before. A sync of bytes in place does not.
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
