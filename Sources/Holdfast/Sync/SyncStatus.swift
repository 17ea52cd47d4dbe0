public import Foundation
import HoldfastCore

/// What an app shows of the sync, in one value.
///
/// ```swift
/// for await status in engine.statuses { label = status.text }  // "3 changes wait"
/// ```
public struct SyncStatus: Sendable, Hashable {
  /// What the engine is about.
  public internal(set) var state: SyncState
  /// How many changes of this device the server has not confirmed.
  public internal(set) var waiting: Int
  /// How many change sets the server refused, so that a person or the app has to deal with them.
  public internal(set) var quarantined: Int
  /// How many questions wait for a person: concurrent edits of columns whose policy is `ask`.
  public internal(set) var questions: Int
  /// When the last sync ended well; nil before the first.
  public internal(set) var lastSynced: Date?

  /// Whether a person has to sign in, for the first time or again. Nothing is lost meanwhile.
  public var needsSignIn: Bool { state == .signedOut }

  /// How much of a download or an upload is done, from 0 to 1; nil when there is none.
  public var progress: Double? {
    switch state {
    case .downloading(let done, let total), .uploading(let done, let total):
      total > 0 ? min(1, Double(done) / Double(total)) : nil
    default: nil
    }
  }

  /// The status in a few words of English. For other languages take the other properties.
  public var text: String {
    let waiting = waiting == 1 ? "1 change waits" : "\(waiting) changes wait"
    switch state {
    case .signedOut: return self.waiting > 0 ? "Sign in: \(waiting)" : "Sign in"
    case .downloading(let done, let total): return "Downloading: \(done) of \(total)"
    case .uploading(let done, let total): return "Sending: \(done) of \(total)"
    case .offline: return self.waiting > 0 ? "Offline: \(waiting)" : "Offline"
    case .idle, .waiting, .awaitingRecovery:
      if quarantined > 0 {
        return quarantined == 1 ? "1 change was refused" : "\(quarantined) changes were refused"
      }
      if self.waiting > 0 { return waiting }
      let missing = missingZones
      if missing > 0 { return missing == 1 ? "Synced, but for 1 zone" : "Synced, but for \(missing) zones" }
      return lastSynced == nil ? "Not synced yet" : "Synced"
    }
  }

  /// How many zones the server has otherwise than this device, until they are resynced or recovered.
  private var missingZones: Int {
    switch state {
    case .waiting(let zones): zones.count
    case .awaitingRecovery(let zones): zones.count
    default: 0
    }
  }
}

/// What the engine is about, and since when all was well.
struct SyncMoment: Sendable {
  private(set) var state = SyncState.idle
  /// When the last sync of this engine ended well, in milliseconds since 1970.
  private(set) var lastSynced: Int64?

  mutating func change(to state: SyncState, at now: Int64) {
    self.state = state
    switch state {
    case .idle, .waiting, .awaitingRecovery: lastSynced = now
    case .uploading, .downloading, .offline, .signedOut: break
    }
  }
}

/// What the database says of the status.
struct SyncCounts: Sendable, Equatable {
  let waiting: Int
  let quarantined: Int
  let questions: Int
  /// The server's clock at the last answer, in milliseconds since 1970; 0 before the first.
  let lastAnswer: Int64
  let isSignedIn: Bool

  init(_ database: Database) throws {
    let local = database.local
    waiting = try Outbox(database: local).unconfirmedOperations()
    quarantined = try local.count("SELECT count(*) FROM holdfast_quarantine")
    questions = try local.count(
      "SELECT count(*) FROM conflicts WHERE policy = 'ask' AND resolution IS NULL")
    let state = try local.state()
    (lastAnswer, isSignedIn) = (state.lastServerClock.milliseconds, state.isSignedIn)
  }
}

extension SyncStatus {
  /// The status of an engine that has said nothing yet is that of the database.
  init(_ moment: SyncMoment?, _ counts: SyncCounts) {
    state = moment?.state ?? (counts.isSignedIn ? .idle : .signedOut)
    if state == .idle, !counts.isSignedIn { state = .signedOut }
    (waiting, quarantined, questions) = (counts.waiting, counts.quarantined, counts.questions)
    let last = max(moment?.lastSynced ?? 0, counts.lastAnswer)
    lastSynced = last > 0 ? Date(timeIntervalSince1970: Double(last) / 1000) : nil
  }
}

/// The status of an engine for a view: always the present one, from the start.
///
/// ```swift
/// let status = LiveStatus(of: engine)
/// label = status.value.text
/// ```
public final class LiveStatus: LiveObject {
  private var current: SyncStatus
  private var task: Task<Void, Never>?

  /// The present status.
  public var value: SyncStatus {
    noteRead()
    return current
  }

  /// Follows an engine, until nobody holds this any more.
  ///
  /// - Throws: what the reading of the store throws.
  public init(of engine: SyncEngine) throws {
    current = SyncStatus(nil, try engine.store.readNow { try SyncCounts($0) })
    super.init()
    task = Task { [weak self] in
      for await status in engine.statuses {
        guard let self else { return }
        if status != current { change { current = status } }
      }
    }
  }

  deinit { task?.cancel() }
}
