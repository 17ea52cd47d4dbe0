import HoldfastConcurrency

/// A budget of memory, in total and per payer: for the bodies of requests, or for unsent answers.
///
/// @unchecked Sendable: the variables are accessed only with `lock` held.
final class ByteRoom: @unchecked Sendable {
  private let limit: Int
  private let shareLimit: Int
  private let lock = Lock()
  private var held = 0
  /// The memory per payer, by the bytes of the payer's name.
  private var heldBy: [[UInt8]: Int] = [:]

  init(limit: Int, shareLimit: Int) {
    self.limit = limit
    self.shareLimit = shareLimit
  }

  /// Reserves memory for several payers until the result is released; nil if the budget or one of them has none left. A single reservation
  /// may exceed its limit.
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

  /// Increases a reservation; false if the budget or one of its payers has none left.
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

  /// A reservation.
  ///
  /// @unchecked Sendable: `count` is written only with the budget's lock held, by the owner of the reservation.
  final class Share: @unchecked Sendable {
    private let room: ByteRoom
    fileprivate(set) var count: Int
    fileprivate let payers: [[UInt8]]

    fileprivate init(_ room: ByteRoom, _ count: Int, _ payers: [[UInt8]]) {
      self.room = room
      self.count = count
      self.payers = payers
    }

    /// Increases the reservation; false without room.
    func grow(by more: Int) -> Bool { room.grow(self, by: more) }

    deinit { room.give(count, of: payers) }
  }
}
