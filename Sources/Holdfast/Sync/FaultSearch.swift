/// Finds the change set for which the server can't take a request at all: 413, or a body that it calls malformed. Pure.
///
/// Fewer are sent, down to a single one. Before that one goes to quarantine, twice a request without any is taken, and behind it the single one is refused in
/// the same words: what is wrong is then the set, and neither the server, nor the rest of the request, nor a network that damages what it carries. A server
/// that refuses whatever it is sent is told apart by this: behind the first set, until one is taken again, each needs as many such proofs as take minutes.
struct FaultSearch {
  enum Decision: Equatable {
    /// Send a request with at most so many change sets.
    case send(limit: Int)
    /// The only change set of the last request is at fault.
    case quarantine
    /// It is not known what is; later.
    case wait
  }

  private enum Step { case halving, probing, confirming }

  /// How often a set must be proved to be at fault; and when none was taken since the last one that was.
  static let proofs = 2
  static let proofsWithoutSuccess = 8

  /// How many change sets the next request has at most.
  private(set) var limit = SyncMachine.changeSetLimit
  private var step = Step.halving
  private var proofs = 0
  private var needed = FaultSearch.proofs
  /// What the server last said of the single set.
  private var reason = ""

  /// Whether the request that is under way is the one without change sets.
  var isProbing: Bool { step == .probing }

  /// The server can't take a request.
  ///
  /// - Parameters:
  ///   - items: how many change sets, or records that are recovered, it has.
  ///   - isTooLarge: whether it was too large.
  ///   - reason: what the server says of it.
  mutating func refused(items: Int, isTooLarge: Bool, reason: String) -> Decision {
    if items > 1 {
      step = .halving
      limit = max(1, min(limit, items) / (isTooLarge ? 8 : 2))
      return .send(limit: limit)
    }
    limit = 1
    guard items == 1 else {
      restart()
      return .wait
    }
    let isSame = reason == self.reason
    self.reason = reason
    guard step == .confirming else {
      step = .probing
      return .send(limit: 0)
    }
    step = .halving
    proofs = isSame ? proofs + 1 : 0
    if proofs == needed {
      (proofs, needed) = (0, Self.proofsWithoutSuccess)
      limit = SyncMachine.changeSetLimit
      return .quarantine
    }
    if proofs == 0 || needed > Self.proofs { return .wait }
    step = .probing
    return .send(limit: 0)
  }

  /// The request without change sets was taken: the one with the single set is sent again.
  mutating func probed() { step = .confirming }

  /// A request was taken.
  mutating func accepted(items: Int) {
    if items > 0 { (proofs, needed, reason) = (0, Self.proofs, "") }
    step = .halving
    limit = SyncMachine.changeSetLimit
  }

  /// What was sent in between proves nothing.
  mutating func restart() { step = .halving }
}
