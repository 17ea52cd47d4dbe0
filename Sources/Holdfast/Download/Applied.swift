/// What an answer brought: PROTOCOL.md, section 6.2.
package enum AnswerProgress: Equatable, Sendable {
  /// Nothing.
  case none
  /// Changes, few of them, of zones that begin, or removals.
  case little
  /// A part that goes on with its zone, a confirmed operation, records or claims that are settled, or many changes.
  case much
}

/// What an answer changed on the device.
struct Applied: Sendable {
  /// Whether there is more to ask for or to send.
  var hasMore = false
  /// How many changes came down in this answer.
  var changes = 0
  /// Whether a part went on with its zone. One that begins its zone may do so again and again.
  var hasAdvanced = false
  /// At most so many are still to come.
  var remaining = 0
  /// A large zone that the device has nothing of, whose snapshot is to be downloaded; it counts in `remaining`.
  var largeZone: (zone: String, changes: Int)?
  /// How many change sets went into quarantine.
  var quarantined = 0
  /// How many zones, and change sets for such, the server says to be in another database.
  var moved = 0
  /// What the answer brought.
  var progress = AnswerProgress.none
  /// How long the first of the zones waits that are to be resynced later; nil for none.
  var resetWait: Duration?
}
