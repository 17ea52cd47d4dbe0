/// How far a request has come whose items stand alone. One that takes long is done in several transactions, and others have their turns between.
package struct RestProgress: Sendable, Equatable {
  /// How many items are done.
  package var done = 0
  /// Their results as they stand in the answer, with commas between.
  var results: [UInt8] = []
  /// Whether a piece of the deletion is done that comes next.
  var isCut = false
}
