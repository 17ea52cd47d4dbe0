import HoldfastCore

/// What a restored server says to devices that have seen more of its history than it has; docs/RESTORING.md, section 3.
extension Reader {
  /// The zones with what their acks are worth in the history of now, and which of them are not there at all.
  func judged(_ zones: [ZoneState]) throws -> ([ZoneState], unknown: Set<String>) {
    let foreign = zones.filter { history.previous != nil && history.isForeign($0.ack) }.map(\.zone)
    if foreign.isEmpty { return (zones, []) }
    let restored = try store.restored(foreign)
    let judged = zones.map { zone in
      var zone = zone
      zone.isForeign = history.isForeign(zone.ack)
      zone.isOfBothHistories =
        zone.isForeign && history.agrees(with: zone.ack, restored: restored[zone.zone])
      return zone
    }
    return (judged, Set(foreign).subtracting(restored.keys))
  }

  /// Whether the device is ahead in a zone: what it has of it is not to be thrown away.
  func isHeld(_ zone: ZoneState) -> Bool { zone.isForeign && !zone.isOfBothHistories && !zone.wasLost }

  func writeHeld(_ zones: [ZoneState], _ unknown: Set<String>, to writer: inout JSONWriter) {
    if zones.isEmpty { return }
    Trace.took(.zoneHeld)
    writer.key("held")
    writer.beginArray()
    for zone in zones {
      writer.beginObject()
      writer.key("zone")
      writer.string(zone.zone)
      writer.key("unknown")
      writer.bool(unknown.contains(zone.zone))
      writer.endObject()
    }
    writer.endArray()
  }

  /// Writes that what a request handed back was dealt with.
  func write(_ refused: [RefusedReturn], of count: Int, to writer: inout JSONWriter) {
    if count == 0 { return }
    writer.key("returned")
    writer.beginObject()
    writer.key("count")
    writer.int64(Int64(count))
    writer.key("refused")
    writer.beginArray()
    for refusal in refused {
      writer.beginObject()
      writer.key("index")
      writer.int64(Int64(refusal.index))
      writer.key("problem")
      writer.rawValue(refusal.problem.document)
      writer.endObject()
    }
    writer.endArray()
    writer.endObject()
  }
}
