/// A transaction of the app on a device's database.
package struct AppTransaction {
  let database: LocalDatabase

  package init(database: LocalDatabase) { self.database = database }

  private var sealing: Sealing { Sealing(database: database) }

  /// Runs the app's `body` in one transaction, which becomes one change set. See `Store.write`.
  package func write<T>(_ environment: StoreEnvironment, _ body: (Database) throws -> T) throws -> T {
    try database.transaction(.immediate, isOfApp: true) {
      // What a foreign writer left is a change set of its own.
      try sealing.sealForeign()
      let result = try database.uniqueValues.checking {
        try body(Database(local: database, environment: environment))
      }
      try database.checkForeignObjects()
      try sealing.sealOwn()
      return result
    }
  }

  /// Writes change sets of the quarantine again in one transaction. See `Store.resend`.
  ///
  /// - Parameter sealed: is called behind each change set.
  package func resend(
    _ number: Int64, _ amend: (inout [QuarantinedOperation]) throws -> Void,
    sealed: () throws -> Void = {}
  ) throws {
    try writeRefused(sealed: sealed) { try $0.resend(number, amending: amend) }
  }

  /// Runs `body`, which writes refused change sets again, in one transaction.
  func writeRefused<Result>(
    keepingMoments: Bool = false, sealed: () throws -> Void = {}, _ body: (Resending) throws -> Result
  ) throws -> Result {
    try database.transaction(.immediate, isOfApp: true) {
      try sealing.sealForeign()
      return try withoutActuallyEscaping(sealed) { sealed in
        try body(
          Resending(
            database: database,
            seal: { origin in
              try sealing.sealOwn(carrying: origin)
              try sealed()
            }, keepsMoments: keepingMoments))
      }
    }
  }
}
