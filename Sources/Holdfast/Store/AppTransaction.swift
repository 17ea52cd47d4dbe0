/// A transaction of the app on a device's database.
package struct AppTransaction {
  let database: LocalDatabase

  package init(database: LocalDatabase) { self.database = database }

  /// Runs the app's `body` in one transaction, which becomes one change set. See `Store.write`.
  package func write<T>(_ environment: StoreEnvironment, _ body: (Database) throws -> T) throws -> T {
    let sealing = Sealing(database: database)
    return try database.transaction(.immediate, isOfApp: true) {
      // What a foreign writer left is a change set of its own.
      try sealing.sealForeign()
      let result = try database.uniqueValues.deferring {
        try body(Database(local: database, environment: environment))
      }
      try database.uniqueValues.check()
      try database.checkForeignObjects()
      let loose = try sealing.looseRecords()
      _ = try UndoHistory(database: database).keep(loose, of: sealing.sealOwn(loose))
      return result
    }
  }
}
