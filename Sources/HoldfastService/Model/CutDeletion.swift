/// A deletion that runs in pieces, as far as it is done. Its first piece has checked all that could refuse the change set, so a later one
/// refuses nothing: docs/SERVER.md, "How long one request holds the writer".
package struct CutDeletion: Sendable, Equatable {
  /// Which one of its request it is: the number of its first operation, or the index of the item.
  var place: Int64 = 0
  /// For each operation, the zone in which the author may delete its record and all below; nil for a record that was not there.
  let zones: [String?]
  /// The number of operations below whose records everything is deleted.
  var done = 0
  /// Until when its zones stay in this database, in milliseconds since 1970: docs/MOVING.md.
  var keptUntil: Int64 = 0

  init(zones: [String?]) { self.zones = zones }
}
