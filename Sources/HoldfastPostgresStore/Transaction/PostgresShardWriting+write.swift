import HoldfastCore
import HoldfastPostgres
import HoldfastService

extension PostgresShardWriting {
  private typealias Entry = PostgresWorkingSet.Entry
  private typealias Changes = [(key: Footprint.Key, before: Entry?, now: Entry)]

  /// Writes all that has changed in one round trip, a row at a time.
  package func write(andCommit changes: ZoneChanges?) throws(PostgresError) {
    let records = store.working.changed.map { (key: $0, before: store.working.stored[$0], now: $1) }
    if records.isEmpty, changes == nil { return }
    let losses = changes == nil ? [] : try losses()
    let parking = PostgresParking(store)
    try store.connection.pipeline { pipe in
      writeZones(pipe)
      writePlaces(records, pipe)
      parking.send(store, pipe)
      writeRecords(records, parking, pipe)
      if let changes {
        writeRoles(pipe)
        store.consentTable.write(to: pipe)
        writeDevices(pipe)
        writeAcks(losses, pipe)
        PostgresRequestStatements.write(store.requestTable, isDistributed: true, pipe)
        for payload in changes.payloads(from: store.node) {
          pipe.send(PostgresStatements.notify, PostgresParameters(payload))
        }
        pipe.send(PostgresStatements.commit)
      }
    }
    store.working.settle()
    store.lists.removeAll()
  }

  private func writeZones(_ pipe: PostgresPipeline) {
    for zone in store.zonesMade[store.zonesWritten...] {
      pipe.send(PostgresShardStatements.addZone, PostgresParameters(zone))
    }
    store.zonesWritten = store.zonesMade.count
    for (zone, seq, counts, clock) in store.zonesMoved {
      pipe.send(
        PostgresShardStatements.moveZone, PostgresParameters(zone, seq, clock, counts.records, counts.bytes))
    }
  }

  private func writeRoles(_ pipe: PostgresPipeline) {
    for (membership, role) in store.zoneTable.changed {
      if let role {
        pipe.send(
          PostgresShardStatements.putRole, PostgresParameters(membership.zone, membership.user, role.rawValue)
        )
      } else {
        pipe.send(PostgresShardStatements.dropRole, PostgresParameters(membership.zone, membership.user))
      }
    }
  }

  private func writePlaces(_ changes: Changes, _ pipe: PostgresPipeline) {
    for (key, before, now) in changes {
      for zone in (before?.places ?? [:]).keys where now.places[zone] == nil {
        pipe.send(
          PostgresShardStatements.dropPlace,
          PostgresParameters(zone, store.schema.tables[key.table].name, key.id))
      }
    }
    for (key, before, now) in changes {
      for (zone, place) in now.places where before?.places[zone] != place {
        pipe.send(
          PostgresShardStatements.putPlace,
          PostgresParameters(
            zone, place.seq, store.schema.tables[key.table].name, key.id, place.rev, place.state.rawValue,
            place.stamps, place.stamp, place.device, place.deletedSeq, place.size))
      }
    }
  }

  /// Writes the tables: new records parents first, then changes, then deletions children first. A record that goes to another zone goes to
  /// another shard: it is deleted here and inserted there.
  private func writeRecords(_ changes: Changes, _ parking: PostgresParking, _ pipe: PostgresPipeline) {
    var added: [Int: [(id: String, zone: String, values: [Value])]] = [:]
    var removed: [Int: [(id: String, zone: String)]] = [:]
    var edited: [Int: [(id: String, zone: String, columns: [Int], values: [Value])]] = [:]
    for (key, before, now) in changes {
      let (from, to) = (before?.home, now.home)
      if let from, from != to { removed[key.table, default: []].append((key.id, from)) }
      guard let to, let values = now.values else { continue }
      if from != to {
        added[key.table, default: []].append((key.id, to, values))
      } else if let old = before?.values {
        let again = parking.columns(of: key)
        let columns = values.indices.filter { old[$0] != values[$0] || again.contains($0) }
        if !columns.isEmpty { edited[key.table, default: []].append((key.id, to, columns, values)) }
      }
    }
    for table in store.layout.order {
      let columns = store.layout.relations[table].columns
      for record in added[table] ?? [] {
        var parameters = PostgresParameters(record.zone, record.id)
        for (column, value) in zip(columns, record.values) { parameters.append(value, column.type) }
        pipe.send(statements.records[table].insert, parameters)
      }
    }
    for table in store.layout.order {
      let relation = store.layout.relations[table]
      for record in edited[table] ?? [] {
        var parameters = PostgresParameters(record.zone, record.id)
        for column in record.columns {
          parameters.append(record.values[column], relation.columns[column].type)
        }
        pipe.send(PostgresShardStatements.update(relation, columns: record.columns), parameters)
      }
    }
    for table in store.layout.order.reversed() {
      for record in removed[table] ?? [] {
        pipe.send(statements.records[table].delete, PostgresParameters(record.zone, record.id))
      }
    }
  }

  private func writeDevices(_ pipe: PostgresPipeline) {
    let devices = store.deviceTable
    for (number, row) in devices.rows.sorted(by: { $0.key < $1.key }) {
      if row.hasMoved {
        pipe.send(
          PostgresShardStatements.moveDevice,
          PostgresParameters(
            number, row.confirmed, row.chain, row.acknowledgedRefusals, row.clock,
            row.seenAt, row.applied))
      }
      if row.purged > 0 {
        pipe.send(PostgresShardStatements.dropRefusals, PostgresParameters(number, row.purged))
      }
    }
    for refusal in devices.newRefusals {
      pipe.send(
        PostgresShardStatements.addRefusal,
        PostgresParameters(refusal.device, refusal.first, refusal.last, refusal.operation, refusal.problem))
    }
  }

  /// The devices of users that lose a zone.
  private func losses() throws(PostgresError) -> [(device: Int64, zone: String)] {
    var found: [(device: Int64, zone: String)] = []
    for (zone, user, _) in store.deviceTable.losses {
      let rows = try store.connection.query(
        PostgresShardStatements.findDevicesOfUser, PostgresParameters(user))
      for row in rows.indices { found.append((rows.int64(row, 0), zone)) }
    }
    return found.sorted { $0.device < $1.device }
  }

  private func writeAcks(_ losses: [(device: Int64, zone: String)], _ pipe: PostgresPipeline) {
    for (number, row) in store.deviceTable.rows where row.clearsAcks {
      pipe.send(PostgresShardStatements.clearAcks, PostgresParameters(number))
    }
    for (key, ack) in store.deviceTable.acks {
      if let ack {
        pipe.send(
          PostgresShardStatements.putAck,
          PostgresParameters(
            key.device, key.zone, ack.epoch, ack.seq, ack.purged,
            store.deviceTable.doubtedAcks.contains(key)))
      } else {
        pipe.send(PostgresShardStatements.dropAck, PostgresParameters(key.device, key.zone))
      }
    }
    for loss in losses {
      pipe.send(PostgresShardStatements.noteLoss, PostgresParameters(loss.device, loss.zone))
    }
    for (user, sum) in store.deviceTable.lossesByUser {
      pipe.send(PostgresShardStatements.countLosses, PostgresParameters(user, sum))
    }
  }
}
