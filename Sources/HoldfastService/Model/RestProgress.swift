/// The progress of a request with independent items, or of a sync request. A long request runs in several transactions, with other commands
/// between them.
package struct RestProgress: Sendable, Equatable {
  /// The number of finished items.
  package var done = 0
  /// The results of the finished items, as JSON separated by commas.
  var results: [UInt8] = []
  /// The number of stored acks of a sync request, and whether the device is ahead of a restored database in a zone of one of them.
  var acks = 0
  var isAhead = false
  /// The next item, if it is a deletion that is partly done.
  var cut: CutDeletion?
}
