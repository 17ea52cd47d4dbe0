import HoldfastCore
import HoldfastSystem

/// What an app shows of the sync of a folder, in one value.
///
/// ```swift
/// for await status in engine.statuses {
///   label = status.text  // "Synced", "Offline: 3 changes wait (school)"
///   if !status.needsSignIn.isEmpty { showSignIn(status.needsSignIn) }
/// }
/// ```
public struct FolderStatus: Sendable, Hashable {
  /// The status of one database.
  public struct Part: Sendable, Hashable {
    /// The name of the database.
    public let database: String
    /// What is done with its file.
    public let state: FolderDatabase.State
    /// What its engine is about; nil when its file is not open, or the address of its servers is not known.
    public let sync: SyncStatus?
    /// Whether its session comes with a pass of home, so that nobody has to sign in.
    let isGuest: Bool

    /// Whether a person has to sign in.
    var needsSignIn: Bool { sync?.needsSignIn == true && !isGuest }

    /// The part in a few words of English.
    var text: String {
      switch state {
      case .withheld: "Too many databases"
      case .failed: "The file can not be opened"
      case .open: sync.map { isGuest && $0.needsSignIn ? "Offline" : $0.text } ?? "No address"
      }
    }
  }

  /// All databases, home first.
  public let databases: [Part]

  /// How many changes of this device the servers have not confirmed.
  public var waiting: Int { databases.reduce(0) { $0 + ($1.sync?.waiting ?? 0) } }
  /// How many change sets the servers refused, so that a person or the app has to deal with them.
  public var quarantined: Int { databases.reduce(0) { $0 + ($1.sync?.quarantined ?? 0) } }
  /// How many questions wait for a person.
  public var questions: Int { databases.reduce(0) { $0 + ($1.sync?.questions ?? 0) } }
  /// The databases whose servers can't be reached or have no time. The others go on.
  public var offline: [String] {
    names { if case .offline? = $0.sync?.state { true } else { false } }
  }
  /// The databases for which a person has to sign in, for the first time or again.
  public var needsSignIn: [String] { names(\.needsSignIn) }
  /// The databases that are beyond the ten that one device can have open.
  public var withheld: [String] { names { $0.state == .withheld } }
  /// The databases whose files can't be opened or read.
  public var failed: [String] {
    names { if case .failed = $0.state { true } else { false } }
  }

  /// The status in a few words of English: what is said of all databases, or of which what else. For other languages take the other properties.
  public var text: String {
    let common = databases.first?.text ?? ""
    if databases.allSatisfy({ $0.text == common }) { return common }
    return databases.filter { $0.text != "Synced" }.map { "\($0.text) (\($0.database))" }
      .joined(separator: ", ")
  }

  private func names(_ isWanted: (Part) -> Bool) -> [String] { databases.filter(isWanted).map(\.database) }
}

extension FolderEngine {
  /// What an app shows of the sync, now and after every change. Equal values are not repeated.
  public var statuses: AsyncStream<FolderStatus> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let board = FolderStatusBoard(of: self) { continuation.yield($0) }
      let task = Task { await board.run() }
      continuation.onTermination = { _ in task.cancel() }
    }
  }
}

/// Makes one status of what the engines of a folder say.
private final class FolderStatusBoard: Sendable {
  private struct Followed {
    let engine: SyncEngine
    let task: Task<Void, Never>
    var status: SyncStatus?
    /// Whether it has ended: its file can't be read. The others go on.
    var isOver = false
  }
  private struct State {
    var followed: TextMap<Followed> = [:]
    var last: FolderStatus?
  }
  private let engine: FolderEngine
  private let tell: @Sendable (FolderStatus) -> Void
  private let state = Locked(State())

  init(of engine: FolderEngine, _ tell: @escaping @Sendable (FolderStatus) -> Void) {
    (self.engine, self.tell) = (engine, tell)
  }

  /// Follows all engines until the task is cancelled.
  func run() async {
    await engine.folder.files.followingList { follow() }
    for (_, followed) in state.withLock({ $0.followed }) { followed.task.cancel() }
  }

  private func follow() {
    let engines = engine.engines
    let gone = state.withLock { state in
      let before = state.followed
      state.followed = TextMap(
        engines.map { name, engine in
          if let known = before[name], known.engine === engine { return (name, known) }
          let task = Task { [weak self] in
            for await status in engine.statuses { self?.set(name, engine) { $0.status = status } }
            self?.set(name, engine) { $0.isOver = true }
          }
          return (name, Followed(engine: engine, task: task))
        })
      return before.filter { name, old in state.followed[name]?.engine !== old.engine }
    }
    for (_, followed) in gone { followed.task.cancel() }
    publish()
  }

  private func set(_ name: String, _ engine: SyncEngine, _ change: (inout Followed) -> Void) {
    state.withLock { state in
      guard var followed = state.followed[name], followed.engine === engine else { return }
      change(&followed)
      state.followed[name] = followed
    }
    publish()
  }

  /// Says the status when each engine has said its own.
  private func publish() {
    let (databases, guests) = (engine.folder.databases, engine.passes.guests)
    state.withLock { state in
      if state.followed.contains(where: { $0.value.status == nil && !$0.value.isOver }) { return }
      let status = FolderStatus(
        databases: databases.map {
          FolderStatus.Part(
            database: $0.name, state: $0.state,
            sync: $0.state == .open ? state.followed[$0.name]?.status : nil,
            isGuest: guests?.contains($0.name) == true)
        })
      if status == state.last { return }
      state.last = status
      tell(status)
    }
  }
}
