import HoldfastCore

// Zones that have moved from one database to another: docs/MOVING.md.
extension FolderEngine {
  /// Writes what was refused as its zone is in another database by now in the file of that database, once the zone is whole there. What can't be
  /// written stays in quarantine.
  ///
  /// - Returns: the databases whose files have got something to send.
  func carryMoved() async -> TextSet {
    var carried: TextSet = []
    for (name, source) in folder.files.present {
      guard let source,
        let sets = try? await source.writer.perform({ try MovedChangeSets(database: $0).all() })
      else { continue }
      for set in sets {
        let target = set.database == passes.home ? DatabaseName.home : set.database
        guard target != name, let store = folder.store(of: target) else { continue }
        guard (try? await store.writer.perform { try MovedChangeSets(database: $0).take(set) }) == true else {
          continue
        }
        carried.insert(target)
        try? await source.discard(set.number)
      }
    }
    return carried
  }
}
