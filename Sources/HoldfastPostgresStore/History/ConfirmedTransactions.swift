import HoldfastSystem

/// The last transaction that the database confirmed to this server. A database that gives out its number again has gone back.
package final class ConfirmedTransactions: Sendable {
  struct Last {
    let epoch: String
    let transaction: Int64
    /// Whether the database was seen to have gone back behind it. The numbers that are given out again pass it soon.
    var isLost = false
  }

  private let value = Locked<Last?>(nil)

  package init() {}

  /// What was confirmed before the database is asked. What it confirms meanwhile may be later than its answer.
  var last: Last? { value.withLock { $0 } }

  /// Records a confirmed transaction. Those of several lanes may come in any order.
  func confirm(_ transaction: Int64, in epoch: String) {
    value.withLock { last in
      if let last, last.epoch == epoch, last.isLost || last.transaction > transaction { return }
      last = Last(epoch: epoch, transaction: transaction)
    }
  }

  /// Whether the database has lost the transaction `before`, for as long as the epoch lasts. A later epoch means that this was noticed.
  ///
  /// - Parameters:
  ///   - next: a number that the database gives out after that transaction was confirmed.
  ///   - epoch: the epoch of the database.
  func areLost(_ before: Last?, next: Int64, in epoch: String?) -> Bool {
    guard let before, before.epoch == epoch else { return false }
    if before.isLost { return true }
    if next > before.transaction { return false }
    value.withLock { if $0?.epoch == before.epoch { $0?.isLost = true } }
    return true
  }
}
