import HoldfastCore

/// What a reader that follows a zone by its counter depends on.
extension Oracle {
  /// I4, I2: each seq of a zone is one change, none is beyond the zone's, and no counter goes back.
  func expectCounters(_ view: ServerView) {
    let before = server.view
    var faults: [String] = []
    var taken: TextMap<[Int64: RecordKey]> = [:]
    func take(_ seq: Int64, in zone: String, for key: RecordKey) {
      if let other = taken[zone, default: [:]].updateValue(key, forKey: seq) {
        let keys = [key, other].sorted()
        faults.append("server: zone \(zone): seq \(seq) is that of \(keys[0]) and of \(keys[1])")
      }
      if seq > view.zones[zone]?.seq ?? 0 {
        faults.append(
          "server: zone \(zone): \(key) has seq \(seq), beyond the zone's \(view.zones[zone]?.seq ?? 0)")
      }
    }
    for (key, row) in view.tables { take(view.seqs[key] ?? 0, in: row.zone ?? "", for: key) }
    for tombstone in view.tombstones { take(tombstone.seq, in: tombstone.zone, for: tombstone.key) }
    for (zone, known) in before.zones where view.zones[zone]?.seq ?? 0 < known.seq {
      faults.append("server: zone \(zone) went back from seq \(known.seq) to \(view.zones[zone]?.seq ?? 0)")
    }
    report("I4", faults)
    report(
      "I2",
      before.confirmed.filter { view.confirmed[$0.key] ?? 0 < $0.value }.map {
        "server: device \($0.key) was confirmed up to \($0.value), now up to \(view.confirmed[$0.key] ?? 0)"
      })
  }

  /// I4, I8: a record that left a zone leaves a tombstone there, which readers have yet to come to; a live one has none.
  func expectTombstones(_ ended: [RecordDifference], in view: ServerView) {
    var faults: [String] = []
    for tombstone in view.tombstones where !tombstone.isDeparture && view.tables[tombstone.key] != nil {
      faults.append("server: \(tombstone.key) is live, and has the tombstone of a deletion")
    }
    report("I8", faults)
    for difference in ended {
      guard let zone = difference.old?.zone, let seq = server.view.seqs[difference.key] else { continue }
      if view.zones[zone]?.purged ?? 0 > seq { continue }
      let isSeen = view.tombstones.contains {
        $0.key == difference.key && $0.zone == zone && $0.seq > seq
      }
      if !isSeen {
        report(
          "I4", "server: \(difference.key) left zone \(zone) after seq \(seq), and no tombstone there says so"
        )
      }
    }
  }
}
