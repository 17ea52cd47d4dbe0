/// How many bytes of edits a request of a sync carries. Pure.
///
/// On a slow way a large request is broken off before all of it has arrived, as often as it is sent. So the next one is half as large, and larger ones
/// are tried again after several of the present size.
struct RequestSize {
  static let most = 1 << 20
  /// A request of this size arrives at 500 bytes a second. A smaller one is not cut short by its size.
  static let least = 16 << 10
  /// After so many requests of the present size twice as much is tried.
  static let successes = 4

  /// The size beyond which no change set is added.
  private(set) var limit = RequestSize.most
  private var arrived = 0

  /// No whole answer came to a request, or the server did not wait for the end of it.
  mutating func lose(_ size: Int) {
    arrived = 0
    if size > Self.least { limit = max(Self.least, min(limit, size) / 2) }
  }

  /// A request arrived whole.
  mutating func arrive(_ size: Int) {
    // A small one says nothing of a larger one.
    guard limit < Self.most, size >= limit / 2 else { return }
    arrived += 1
    if arrived < Self.successes { return }
    arrived = 0
    limit = min(Self.most, limit * 2)
  }
}
