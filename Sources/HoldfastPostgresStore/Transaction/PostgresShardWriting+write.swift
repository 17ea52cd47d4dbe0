import HoldfastCore
import HoldfastPostgres
import HoldfastService

extension PostgresShardWriting {
  /// Writes the changes in one round trip, one row per statement.
  package func write(_ delta: Delta, andCommit changes: ZoneChanges?) throws(PostgresError) {
    let losses = try losses(delta)
    let parking = PostgresParking(delta.records, store.schema, store.layout)
    try store.connection.pipeline { pipe in
      writeZones(delta, pipe)
      writePlaces(delta.records, pipe)
      parking.send(pipe)
      writeRecords(delta.records, parking, pipe)
      if let changes {
        writeRoles(delta.roles, pipe)
        PostgresConsents.write(delta.left, pipe)
        writeDevices(delta, pipe)
        writeAcks(delta, losses, pipe)
        PostgresRequestStatements.write(delta.requests, isDistributed: true, pipe)
        for payload in changes.payloads(from: store.node) {
          pipe.send(PostgresStatements.notify, PostgresParameters(payload))
        }
        pipe.send(PostgresStatements.commit)
      }
    }
  }

  private func writeZones(_ delta: Delta, _ pipe: PostgresPipeline) {
    for zone in delta.newZones { pipe.send(PostgresShardStatements.addZone, PostgresParameters(zone)) }
    for zone in delta.movedZones {
      pipe.send(
        PostgresShardStatements.moveZone,
        PostgresParameters(
          zone.zone, zone.seq, delta.clock.rawValue, zone.counts.records, zone.counts.bytes))
    }
  }

  private func writeRoles(_ roles: [(member: ZoneUser, role: Role?)], _ pipe: PostgresPipeline) {
    for (member, role) in roles {
      if let role {
        pipe.send(
          PostgresShardStatements.putRole, PostgresParameters(member.zone, member.user, role.rawValue))
        pipe.send(
          PostgresShardStatements.putMembership, PostgresParameters(member.user, member.zone, role.rawValue))
      } else {
        pipe.send(PostgresShardStatements.dropRole, PostgresParameters(member.zone, member.user))
        pipe.send(PostgresShardStatements.dropMembership, PostgresParameters(member.user, member.zone))
      }
    }
  }

  private func writePlaces(_ changes: [ChangedRecord], _ pipe: PostgresPipeline) {
    for change in changes {
      for (zone, _) in change.before?.places ?? RecordPlaces() where change.now.places[zone] == nil {
        pipe.send(
          PostgresShardStatements.dropPlace,
          PostgresParameters(zone, store.schema.tables[change.key.table].name, change.key.id))
      }
    }
    for change in changes {
      for (zone, place) in change.now.places where change.before?.places[zone] != place {
        pipe.send(
          PostgresShardStatements.putPlace,
          PostgresParameters(
            zone, place.seq, store.schema.tables[change.key.table].name, change.key.id, place.rev,
            place.state.rawValue, place.stamps, place.stamp, place.device, place.deletedSeq, place.size))
      }
    }
  }

  /// Writes the tables: first new records, parents first; then changes; then deletions, children first. A record that moves to another zone
  /// moves to another shard: it is deleted here and inserted there.
  private func writeRecords(_ changes: [ChangedRecord], _ parking: PostgresParking, _ pipe: PostgresPipeline)
  {
    var added: [Int: [(id: String, zone: String, values: [Value])]] = [:]
    var removed: [Int: [(id: String, zone: String)]] = [:]
    var edited: [Int: [(id: String, zone: String, columns: [Int], values: [Value])]] = [:]
    for change in changes {
      let (key, before, now) = (change.key, change.before, change.now)
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

  private func writeDevices(_ delta: Delta, _ pipe: PostgresPipeline) {
    for device in delta.movedDevices {
      let state = device.state
      pipe.send(
        PostgresShardStatements.moveDevice,
        PostgresParameters(
          device.number, state.confirmed, Int64(bitPattern: state.chain.value), state.acknowledgedRefusals,
          state.clock.rawValue, device.seenAt, state.applied.bytes, state.isSessionUsed))
    }
    for (device, last) in delta.purgedRefusals {
      pipe.send(PostgresShardStatements.dropRefusals, PostgresParameters(device, last))
    }
    for refusal in delta.refusals {
      pipe.send(
        PostgresShardStatements.addRefusal,
        PostgresParameters(refusal.device, refusal.first, refusal.last, refusal.operation, refusal.problem))
    }
  }

  /// The devices of the users that lose a zone.
  private func losses(_ delta: Delta) throws(PostgresError) -> [(device: Int64, zone: String)] {
    var found: [(device: Int64, zone: String)] = []
    for loss in delta.losses {
      let rows = try store.connection.query(
        PostgresShardStatements.findDevicesOfUser, PostgresParameters(loss.user))
      for row in rows.indices { found.append((rows.int64(row, 0), loss.zone)) }
    }
    return found.sorted { $0.device < $1.device }
  }

  private func writeAcks(
    _ delta: Delta, _ losses: [(device: Int64, zone: String)], _ pipe: PostgresPipeline
  ) {
    for number in delta.clearedAcks {
      pipe.send(PostgresShardStatements.clearAcks, PostgresParameters(number))
    }
    for new in delta.acks {
      if let ack = new.ack {
        pipe.send(
          PostgresShardStatements.putAck,
          PostgresParameters(
            new.key.device, new.key.zone, ack.epoch, ack.seq, ack.purged, new.isDoubted))
      } else {
        pipe.send(PostgresShardStatements.dropAck, PostgresParameters(new.key.device, new.key.zone))
      }
    }
    for loss in losses {
      pipe.send(PostgresShardStatements.noteLoss, PostgresParameters(loss.device, loss.zone))
    }
    for (user, sum) in delta.lossesByUser {
      pipe.send(PostgresShardStatements.countLosses, PostgresParameters(user, sum))
    }
  }
}
