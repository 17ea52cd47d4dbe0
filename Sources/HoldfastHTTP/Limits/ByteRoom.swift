import HoldfastConcurrency

/// How many bytes may be held at the same time, in all and for each who has to answer for them: of requests' contents, or of answers that wait
/// to be taken by their clients.
///
/// @unchecked Sendable: the variables are touched only under `lock`.
final class ByteRoom: @unchecked Sendable {
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

  /// Takes room of several payers until what is returned is let go; nil when one of them has none left. What is alone may be as large as it
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

  /// Takes more room for the payers of a share; false when one of them has none left.
  private func grow(_ share: Share, by count: Int) -> Bool {
    lock.hold {
      if held + count > limit { return false }
      if share.payers.contains(where: { heldBy[$0, default: 0] + count > shareLimit }) { return false }
      held += count
      for payer in share.payers { heldBy[payer, default: 0] += count }
      share.count += count
      return true
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
  ///
  /// @unchecked Sendable: `count` is written only under the room's lock, by the one who has the share.
  final class Share: @unchecked Sendable {
    private let room: ByteRoom
    fileprivate(set) var count: Int
    fileprivate let payers: [[UInt8]]

    fileprivate init(_ room: ByteRoom, _ count: Int, _ payers: [[UInt8]]) {
      self.room = room
      self.count = count
      self.payers = payers
    }

    /// Takes more; false when there is none.
    func grow(by more: Int) -> Bool { room.grow(self, by: more) }

    deinit { room.give(count, of: payers) }
  }
}
