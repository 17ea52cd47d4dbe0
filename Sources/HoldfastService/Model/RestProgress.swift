/// The progress of a request with independent items. A long request runs in several transactions, with other commands between them.
package struct RestProgress: Sendable, Equatable {
  /// The number of finished items.
  package var done = 0
  /// The results of the finished items, as JSON separated by commas.
  var results: [UInt8] = []
  /// The next item, if it is a deletion that is partly done.
  var cut: CutDeletion?
}
