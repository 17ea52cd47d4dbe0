import HoldfastCore

/// What programs without a copy do.
extension Oracle {
  /// The server did what a request asked for: it is confirmed at once.
  ///
  /// - Parameters:
  ///   - token: what the request wrote, though it may have lost against a deletion.
  ///   - key: the record, where the request named it.
  func requested(
    by device: String, user: String, before: Tables, after: Tables, token: Int?, key: RecordKey?,
    column: String
  ) {
    let first = transactions.count
    wrote(device: device, user: user, before: withoutLog(before), after: withoutLog(after))
    if let token, let key, written[token] == nil {
      var transaction = LocalTransaction(device: device, user: user)
      transaction.tokens = [token]
      transaction.operations = [OperationName(kind: "update", key: key)]
      written[token] = Written(key: key, column: column, transactions: [transactions.count])
      transactions.append(transaction)
    }
    for index in first..<transactions.count { transactions[index].state = .confirmed }
    devices[device]?.open = []
  }

  /// The server writes the conflict log itself.
  private func withoutLog(_ tables: Tables) -> Tables { tables.filter { $0.key.table != "conflicts" } }
}
