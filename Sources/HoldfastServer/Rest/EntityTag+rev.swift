import HoldfastHTTP

extension EntityTag {
  /// The tag of a record.
  init(rev: Int64) { self.init(String(rev)) }

  /// The rev that the tag of a record names; nil for what is no tag of a record.
  var rev: Int64? {
    guard let rev = Int64(opaque), String(rev) == opaque else { return nil }
    return rev
  }
}
