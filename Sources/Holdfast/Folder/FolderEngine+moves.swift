import HoldfastCore

// Zones that have moved from one database to another: docs/MOVING.md.
extension FolderEngine {
  /// Writes what was refused as its zone has moved in the file of the database of home's directory that has the zone by now, once the zone is whole there.
  /// What can't be written stays in quarantine.
  ///
  /// - Returns: the databases whose files have got something to send.
  func carryMoved() async -> TextSet {
    // A move that is heard of meanwhile sets it again.
    passes.mayHaveMoved = false
    var carried: TextSet = []
    let files = await followed()
    for (_, source) in files {
      let sets = try? await source.writer.perform { try MovedChangeSets(database: $0).all() }
      for set in sets ?? [] {
        guard let isTaken = await files.haveTaken(set) else {
          passes.mayHaveMoved = true
          continue
        }
        if !isTaken {
          guard let (target, store) = await files.first(having: set.zone) else {
            passes.mayHaveMoved = true
            continue
          }
          let isDone = try? await store.writer.perform { try MovedChangeSets(database: $0).take(set) }
          guard isDone == true else { continue }
          carried.insert(target)
        }
        try? await source.discard(set.number)
      }
    }
    return carried
  }

  /// The file of home, and of each database in which home's directory says that the user is a guest, as far as they are this user's: another one of the
  /// folder may have the name of one of the directory (I10).
  private func followed() async -> [(name: String, store: Store)] {
    guard let user = (try? await folder.store(of: DatabaseName.home)?.account())??.user else { return [] }
    var followed: [(name: String, store: Store)] = []
    for (name, store) in folder.files.stores
    where name == DatabaseName.home || passes.guests?.contains(name) == true {
      if (try? await store.account())??.user == user { followed.append((name, store)) }
    }
    return followed
  }
}

extension [(name: String, store: Store)] {
  /// Whether one of the files has a refused change set: the zone may have moved on since. One that can't be read may have it.
  fileprivate func haveTaken(_ set: MovedChangeSet) async -> Bool? {
    for file in self {
      guard
        let isDone = try? await file.store.writer.perform({ try MovedChangeSets(database: $0).hasTaken(set) })
      else { return nil }
      if isDone { return true }
    }
    return false
  }

  /// The file in which a zone is whole.
  fileprivate func first(having zone: String) async -> Element? {
    for file in self {
      let isHere = try? await file.store.writer.perform { try MovedChangeSets(database: $0).has(zone) }
      if isHere == true { return file }
    }
    return nil
  }
}
