import HoldfastCore

/// What a schema that loses tables and columns takes out of visible.
extension Oracle {
  /// The server has these columns by table, and no others: what stood in others is not served any more.
  func serves(_ columns: TextMap<TextSet>) {
    server.view.tables = server.view.tables.filter { columns[$0.key.table] != nil }
    for (key, row) in server.view.tables {
      let gone = row.ownColumns.filter { columns[key.table]?.contains($0) != true }
      for column in gone { server.view.tables[key]?[column] = nil }
    }
  }

  /// The app on a device has these columns by table, and no others: an edit of another waits in the outbox without being shown.
  func shows(_ columns: TextMap<TextSet>, on device: String) {
    let latest = devices[device]?.latest ?? [:]
    devices[device]?.latest = latest.reduce(into: [:]) { shown, edited in
      guard let known = columns[edited.key.table] else { return }
      shown[edited.key] = edited.value.filter { known.contains($0.key) }
    }
  }
}
