import HoldfastCore
import HoldfastHTTP
import HoldfastService

extension ZoneRoutes {
  /// The number of changes in one read.
  private static let stretch = 200

  /// The changes of a collection since the client's copy; nil if the whole collection must be sent.
  func delta(
    of scope: CollectionScope, _ query: RecordQuery, for user: String, _ preconditions: Preconditions,
    _ store: any StoreReader
  ) throws -> HTTPResponse? {
    guard let state = base(of: scope, preconditions) else { return nil }
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("records")
    let (reached, hasMore) = try writeChanges(of: scope, since: state, query, for: user, store, to: &writer)
    if hasMore {
      writer.key("more")
      writer.bool(true)
    }
    writer.endObject()
    // A partial read of several zones is not a state that the collection ever had, so it gets no date.
    let seconds = scope.isOneZone ? reached.zones.first?.seq : hasMore ? nil : scope.age
    return .delta(
      writer.bytes, .init(tag: reached.text, seconds: seconds), isFeed: preconditions.takesFeed)
  }

  /// The state of the client's copy, if the changes since are complete: no zone was lost, and none has purged tombstones after it.
  private func base(of scope: CollectionScope, _ preconditions: Preconditions) -> CollectionState? {
    guard scope.zones.count <= CollectionState.zoneLimit else { return nil }
    var states: [CollectionState] = []
    if preconditions.takesFeed { states = preconditions.known.compactMap { CollectionState($0) } }
    if let seconds = preconditions.modifiedSince, scope.isOneZone, let zone = scope.zones.first {
      states.append(CollectionState(epoch: api.database.epoch, zones: [(zone.zone, seconds)]))
    }
    return states.first { state in
      state.epoch == api.database.epoch
        && state.zones.allSatisfy { known in
          scope.zone(known.zone).map { ($0.purged...max($0.purged, $0.seq)).contains(known.seq) } ?? false
        }
    }
  }

  /// Writes an array of changes, zone by zone, until the answer is full.
  ///
  /// - Returns: the state that the client has after them, and whether there are more.
  private func writeChanges(
    of scope: CollectionScope, since state: CollectionState, _ query: RecordQuery, for user: String,
    _ store: any StoreReader, to writer: inout JSONWriter
  ) throws -> (CollectionState, hasMore: Bool) {
    let limit = writer.count + api.environment.answerSize
    var reached: [(zone: String, seq: Int64)] = []
    var hasMore = false
    writer.beginArray()
    for zone in scope.zones {
      let known = state.zones.first { $0.zone == zone.zone }?.seq
      if known == zone.seq || hasMore {
        if let known { reached.append((zone.zone, known)) }
        continue
      }
      var last = known ?? 0
      hasMore = try !writeChanges(
        of: zone, after: &last, scope, query, for: user, store, to: &writer, limit: limit)
      // A zone without written changes is left out of the state, so that the client's next request begins it.
      if !hasMore { last = max(last, zone.seq) }
      if known != nil || last > 0 || !hasMore { reached.append((zone.zone, last)) }
    }
    writer.endArray()
    return (CollectionState(epoch: api.database.epoch, zones: reached), hasMore)
  }

  /// Writes the changes of one zone.
  ///
  /// - Parameter last: the last seq that the client has; advanced by this call.
  /// - Returns: whether all changes were written.
  private func writeChanges(
    of zone: VisibleZones.Zone, after last: inout Int64, _ scope: CollectionScope, _ query: RecordQuery,
    for user: String, _ store: any StoreReader, to writer: inout JSONWriter, limit: Int
  ) throws -> Bool {
    while true {
      let changes = try store.changes(of: query.table, in: zone.zone, after: last, limit: Self.stretch)
      // A record that moved to another zone of the collection appears there instead.
      let departed = changes.filter { if case .departed = $0.content { true } else { false } }.map(\.id)
      let homes = try departed.isEmpty ? [:] : store.records(departed, of: query.table, for: user)
      for change in changes {
        if writer.count >= limit { return false }
        last = change.seq
        switch change.content {
        case .live(let record):
          api.records.write(record, created: nil, columns: query.columns, to: &writer)
        case .deleted(let tombstone):
          api.records.writeShort(Footprint.Key(table: query.table, id: change.id), tombstone, to: &writer)
        case .missing: continue
        case .departed:
          if case .live(let record, _)? = homes[change.id], scope.zone(record.zone) != nil { continue }
          RecordRoutes(api: api).writeGone(change.id, of: query.table, to: &writer)
        }
      }
      if changes.count < Self.stretch { return true }
    }
  }
}
