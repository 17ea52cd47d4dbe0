import HoldfastCore
import HoldfastSQLite

// Databases that leave. Each step is in the list before it is done.
extension FolderFiles {
  /// Closes the stores of databases whose files are to be removed.
  ///
  /// - Throws: `StoreError.unsentEdits`, and why one can't be looked at for them, when unsent edits are to stay: nothing is closed then.
  func prepare(_ names: [String], _ leaving: FolderList.Leaving) throws {
    if leaving == .remove {
      // What can't be looked at may have unsent edits.
      for database in databases where names.contains(database.name) {
        if case .failed(let error) = database.state { throw error }
      }
      for (name, store) in stores where names.contains(name) {
        try store.writer.performNow { try SignOut(database: $0).checkUnsent() }
      }
    }
    for name in names { close(name, Self.leaves(name)) }
  }

  /// Notes in the list what is to be done with databases, and does it; after a kill, the next launch does. No other process has the list meanwhile.
  ///
  /// - Returns: why it could not be done, by the database. Its mark is gone, unless the list can't be written now.
  /// - Throws: `StoreError` when nothing was noted, or what was done could not be.
  func leave(_ names: [String], _ leaving: FolderList.Leaving) throws -> TextMap<StoreError> {
    let failures = Result {
      try list.write { list in
        let known = try list.rows().map(\.name).filter(names.contains)
        try list.mark(
          known, leaving, at: TextMap(known.compactMap { name in moment(of: name).map { (name, $0) } }))
        onStep(.marked)
        return try finish(list, isLaunch: false)
      }
    }
    // If the list can't be read now, what was to be removed stays closed, and its state says so.
    try? update(opening: leaving == .signOut ? [] : names)
    return try failures.get()
  }

  /// Does what is marked; home's is the last.
  ///
  /// - Parameter isLaunch: whether it was marked earlier, so that something may have been written since.
  func finish(_ list: FolderList.Writer, isLaunch: Bool) throws -> TextMap<StoreError> {
    var failures: TextMap<StoreError> = [:]
    for row in try list.rows().reversed() {
      guard let leaving = row.leaving else { continue }
      let isRemoved = leaving != .signOut && row.name != DatabaseName.home
      do { try finish(row, leaving, isRemoved: isRemoved, isLaunch: isLaunch) } catch {
        failures[row.name] = Self.problem(error)
        // The mark is for the launch after a kill. Here somebody hears of the failure. If the mark has to stay, the file stays closed.
        try? list.mark([row.name], nil)
        continue
      }
      do { if isRemoved { try list.remove(row.name) } else { try list.mark([row.name], nil) } } catch {
        failures[row.name] = Self.problem(error)
      }
    }
    return failures
  }

  private func finish(
    _ row: FolderList.Row, _ leaving: FolderList.Leaving, isRemoved: Bool, isLaunch: Bool
  ) throws {
    let name = row.name
    if isRemoved { close(name, Self.leaves(name)) }
    if name == DatabaseName.home || path.hasFile(name) {
      do {
        try use(name) { database in
          // Nobody knows for whose session it was marked.
          if isLaunch, row.moment == nil { throw SignOut.isOutdated }
          try SignOut(database: database).run(
            removingData: leaving != .signOut, discardingUnsent: leaving == .discard && row.moment != nil,
            upTo: row.moment, isLeaving: isRemoved)
        }
      } catch {
        // What is damaged can't be emptied. It goes whole if nothing of it is to be kept, and nothing was written since.
        guard isRemoved, leaving == .discard, Self.problem(error).code == .databaseIsBroken,
          row.moment == nil ? !isLaunch : moment(of: name) == row.moment
        else { throw error }
      }
      onStep(.emptied)
    }
    guard isRemoved else { return }
    do { try path.remove(name) } catch {
      // Another process holds the file, on Windows. It is empty, and nobody opens it again.
      guard path.isEmptied(name) else { throw error }
    }
    onStep(.deleted)
  }

  /// What tells whether somebody signs in or writes in a file from now on; nil when it can't be looked at.
  private func moment(of name: String) -> SignOut.Moment? {
    try? use(name) { try SignOut(database: $0).moment() }
  }

  /// Runs `body` on the store of a database, or on its file if that is not open.
  private func use<T>(_ name: String, _ body: (LocalDatabase) throws -> T) throws -> T {
    if let store = stores.first(where: { $0.name == name })?.store ?? (name == DatabaseName.home ? home : nil)
    {
      return try store.writer.performNow(body)
    }
    let database = try DatabaseOpening(
      path: path.file(of: name), schema: schema, access: .readWrite,
      replica: Position.Replica(random: environment.random()).string, options: options
    ).open()
    defer { database.connection.close() }
    return try body(database)
  }
}
