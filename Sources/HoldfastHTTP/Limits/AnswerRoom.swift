import HoldfastConcurrency

/// How many bytes of answers may wait to be taken by their clients, in all and for each who has to answer for them.
///
/// @unchecked Sendable: the variables are touched only under `lock`.
final class AnswerRoom: @unchecked Sendable {
  /// Answers up to this size count only when the system does not take them at once.
  static let smallBytes = 64 << 10

  private let limit: Int
  private let shareLimit: Int
  private let lock = Lock()
  private var held = 0
  /// By the bytes of the payers' names.
  private var heldBy: [[UInt8]: Int] = [:]

  init(limit: Int, shareLimit: Int) {
    self.limit = limit
    self.shareLimit = shareLimit
  }

  /// Takes room of several payers until what is returned is let go; nil when one of them has none left. An answer that is alone may be as large as it
  /// is.
  func take(_ count: Int, for payers: [String]) -> Share? {
    let payers = payers.map { Array($0.utf8) }
    return lock.hold {
      if held > 0, held + count > limit { return nil }
      for payer in payers {
        let own = heldBy[payer, default: 0]
        if own > 0, own + count > shareLimit { return nil }
      }
      held += count
      for payer in payers { heldBy[payer, default: 0] += count }
      return Share(self, count, payers)
    }
  }

  private func give(_ count: Int, of payers: [[UInt8]]) {
    lock.hold {
      held -= count
      for payer in payers {
        let own = heldBy[payer, default: 0] - count
        heldBy[payer] = own > 0 ? own : nil
      }
    }
  }

  /// Some of the room.
  final class Share: Sendable {
    private let room: AnswerRoom
    private let count: Int
    private let payers: [[UInt8]]

    fileprivate init(_ room: AnswerRoom, _ count: Int, _ payers: [[UInt8]]) {
      self.room = room
      self.count = count
      self.payers = payers
    }

    deinit { room.give(count, of: payers) }
  }
}
