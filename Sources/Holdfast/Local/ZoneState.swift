import HoldfastCore

/// How far this device has one zone: its row in `holdfast_zones`. A value without a database; its methods are the transitions.
///
/// | state | `ack` | `token` | `resync` |
/// | --- | --- | --- | --- |
/// | to be left: the server is still to be notified | nil | empty | none |
/// | new, nothing of it is here | empty | empty | none or replaced |
/// | whole | equal to `token` | its position | none, or verified |
/// | further pages are staged | past `token` | the last whole position, or empty | any |
/// | to come from its beginning | empty | the last whole position, or empty | all but none and verified |
struct ZoneState: Equatable {
  /// The user's role, as the server last gave it; empty if it has not.
  var role = ""
  /// The position up to which the records here are whole; empty if the zone never was.
  private(set) var token = ""
  /// The position that the next part must follow: empty for the zone's beginning, nil for a zone that is given up.
  private(set) var ack: String? = ""
  /// Whether the server has stored `ack`.
  private(set) var isSent = false
  private(set) var resync = ResyncReason.none
  /// The server's proof of the role; see docs/RESTORING.md, section 4.
  private(set) var proof = ""
  /// The role that a recovery claim names.
  private(set) var claimedRole = ""

  /// A zone of which nothing is here.
  init() {}

  /// A zone as it is stored; nil if no transition leads to these values' types and words.
  init?(
    role: String?, token: String?, ack: String?, isSent: Bool, resync: String?, proof: String?,
    claimedRole: String?
  ) {
    guard let role, let token, let resync = resync.flatMap(ResyncReason.init), let proof, let claimedRole
    else { return nil }
    (self.role, self.token, self.ack, self.isSent) = (role, token, ack, isSent)
    (self.resync, self.proof, self.claimedRole) = (resync, proof, claimedRole)
  }

  /// A zone that can't be read and comes again.
  static let unreadable = {
    var state = ZoneState()
    state.resync = .replaced
    return state
  }()

  /// A zone that this device does not have, and of which the server is to be notified.
  static let left = {
    var state = ZoneState()
    state.ack = nil
    return state
  }()

  var isFollowed: Bool { ack != nil }

  /// Whether all of the zone is here, as the server had it at one moment.
  var isWhole: Bool { !token.isEmpty && ack == token && (resync == .none || resync == .verified) }

  /// Whether these values can follow from transitions: between its beginning and its end a zone goes forward from its last whole position.
  var isPossible: Bool {
    guard let ack else { return true }
    guard [ack, token].allSatisfy({ $0.isEmpty || ChangeToken($0) != nil }) else { return false }
    return switch resync {
    case .replaced, .recovered, .filled, .compared: ack.isEmpty || ack != token
    case .verified: true
    case .none: !ack.isEmpty || token.isEmpty
    }
  }

  // MARK: Following

  /// Takes up a zone that was left.
  mutating func follow() {
    if ack == nil { startOver() }
  }

  /// The server has stored an ack of this zone. One that has changed since stays unsent.
  mutating func noteSent(_ sent: String) {
    if ack == sent { isSent = true }
  }

  /// A page has come and is staged or applied: the next one follows it.
  mutating func receive(upTo position: String, as role: String) {
    (self.role, ack, isSent) = (role, position, false)
  }

  /// All parts up to `ack` are applied. A zone that the server verifies stays so, until it has stored the ack.
  mutating func becomeWhole() {
    guard let ack else { return }
    token = ack
    if resync != .verified { resync = .none }
    claimedRole = ""
  }

  /// A snapshot has replaced the zone.
  mutating func becomeWhole(bySnapshot position: String) {
    (token, ack, isSent, resync) = (position, position, false, .none)
  }

  // MARK: Resyncing

  /// The zone comes from its beginning, for a reason that yields to one that relies on less.
  mutating func resync(_ reason: ResyncReason) {
    guard isFollowed else { return }
    startOver()
    if !resync.replacesAll { resync = reason }
  }

  /// All records come again, and those that are here stay for as long as the server can't give them.
  mutating func fill() { resync(token.isEmpty ? .replaced : .filled) }

  /// Edits may be here that nobody recorded. Only records that the server has lost matter more.
  mutating func compare() {
    guard isFollowed else { return }
    startOver()
    if resync != .recovered { resync = .compared }
  }

  /// The server is first to verify the last whole position.
  ///
  /// - Returns: false when the zone is not being filled.
  mutating func verify() -> Bool {
    if resync != .filled { return false }
    (ack, isSent, resync) = (token, false, .verified)
    return true
  }

  /// The server has found nothing wrong with the last whole position: the zone is filled.
  mutating func goOnFilling() {
    guard resync == .verified, ack == token, isSent else { return }
    startOver()
    resync = .filled
  }

  /// Drops the pages that came since the zone was whole: they are of a history that a restore has ended.
  ///
  /// - Parameter hasLost: whether edits of this device that the server has lost may show in it.
  /// - Returns: false when there are none.
  mutating func dropPages(hasLost: Bool) -> Bool {
    guard let ack, !ack.isEmpty, ack != token else { return false }
    if hasLost || resync.replacesAll {
      resync(.replaced)
    } else {
      (self.ack, isSent) = (token, false)
      _ = verify()
    }
    return true
  }

  /// Records that were created here may be deleted on the server: they leave with the copy that is on its way, if it lacks them.
  ///
  /// - Returns: false when none is on its way.
  mutating func removeMissing() -> Bool {
    guard isFollowed, token.isEmpty else { return false }
    if resync == .none { resync = .replaced }
    return true
  }

  /// Makes a possible state of one that is not, or of a zone that was left while records of it are here: it comes from its beginning.
  mutating func mend() {
    if ChangeToken(token) == nil { token = "" }
    startOver()
    fill()
  }

  private mutating func startOver() { (ack, isSent) = ("", false) }

  // MARK: Recovery

  mutating func keep(proof: String) {
    if isFollowed { self.proof = proof }
  }

  /// The server asks for a recovery claim. A part that resyncs the zone may bring the role of after the restore.
  mutating func claim() {
    if claimedRole.isEmpty { claimedRole = role }
  }
}
