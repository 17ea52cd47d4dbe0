import HoldfastCore
import HoldfastSQLite

/// Beginning and ending to follow a public zone.
package struct Following {
  let database: LocalDatabase

  private var zones: Zones { Zones(database: database) }
  private var orphans: Orphans { Orphans(database: database) }
  private var sealing: Sealing { Sealing(database: database) }

  package init(database: LocalDatabase) { self.database = database }

  /// Begins or ends to follow a public zone.
  package func follow(_ zone: String, _ isFollowed: Bool) throws {
    try database.transaction(.immediate) {
      if isFollowed { return try zones.take(zone) }
      // What another program wrote there is sent, or refused by name.
      try sealing.sealForeign()
      try database.whileApplying {
        try zones.lose([zone])
        try orphans.settle()
      }
      try zones.removeStrayFiles()
    }
  }
}
