import HoldfastCore
import HoldfastPostgres
import HoldfastService

extension PostgresReader {
  package func records(_ ids: [String], of table: Int, for user: String?) throws -> TextMap<SeenRecord> {
    let source = statements.sources[table]
    // No record has any other, and PostgreSQL takes no text with U+0000.
    let ids = TextSet(ids.filter(Identifier.isPossible)).sorted()
    if ids.isEmpty { return [:] }
    var creators = PostgresParameters(user, source.table.name)
    creators.append(array: ids)
    let (rows, created) = try findRecords(ids, source, user, creators)
    var requests: TextMap<String> = [:]
    for row in created.indices { requests[created.text(row, 0)] = created.text(row, 1) }
    var found: TextMap<SeenRecord> = [:]
    for rows in rows {
      for row in rows.indices {
        let (id, zone) = (rows.text(row, 0), rows.text(row, 1))
        let place = RecordPlace(rows, row)
        guard place.state == .live else {
          // Where it lives now says more than where it was deleted before.
          if found[id] == nil { found[id] = .deleted(Tombstone(place, zone: zone)) }
          continue
        }
        let record = StoredRecord(
          table: table, id: id, zone: zone, seq: place.seq, rev: place.rev, stamps: place.stamps ?? "",
          values: source.columns.indices.map {
            rows.value(row, RecordPlace.end + $0, source.columns[$0].type)
          })
        found[id] = .live(record, creator: requests[id])
      }
    }
    return found
  }

}
