/// A transition of docs/PROTOCOL.md, by its section. A simulation counts which of them were taken.
package enum Transition: String, CaseIterable, Sendable {
  // 4: what the service does with a request
  case quietRequest = "4 request: nothing to write"
  case completeAcks = "4 request: all acks replace the stored ones"
  case oldRequest = "4 request: an old one, whose acks are not taken"
  case replaySkipped = "4 change set: skipped as a replay"
  case setApplied = "4 change set: applied"
  case setRefused = "4 change set: refused, the others go on"
  case setsLeft = "4 change sets: left for the next request, as others wait"
  case divergedNumber = "7 copy: a number that never arrived"
  case divergedChain = "7 copy: another chain"
  case divergedAnswers = "7 copy: answers dealt with already"
  case copyLeftOut = "7 copy: a change set that arrived already is left out"
  case copyUncertain = "7 copy: a change set that may have arrived waits in quarantine"
  case resendAsked = "3 answer: resend"
  case partWhole = "3 part: whole"
  case partUnfinished = "3 part: more to come"
  case partWithoutRoom = "3 part: no room"
  case fenced = "3 part: reset"
  case lossTold = "3 answer: zone lost"
  case tombstonesForgotten = "forgetting: tombstones of a zone"
  case deviceForgotten = "forgetting: acks of a dead device"
  case unheardAsked = "3 restored: a device that was not heard yet says its acks first"
  case aheadOfRestore = "3 restored: a device is ahead"
  case zoneHeld = "3 restored: a zone is held"
  case handedBack = "3 restored: handed back"
  case returnLost = "3 restored: an edit since stays"
  case returnMerged = "3 restored: merged with an edit since"
  case unheardLost = "3 restored: a change set that was confirmed, and not heard of, waits in quarantine"
  case returnNoted = "3 restored: noted to be handed back"
  case fillingJudged = "3 restored: a zone whose new columns are filled in is judged first"

  // 5: operations
  case created = "5 create: inserted"
  case createMerged = "5 create: merged with a live record"
  case restored = "5 create: restored over a tombstone"
  case createBuried = "5 create: the deletion wins"
  case recordExists = "5 create: refused, the record exists elsewhere"
  case updated = "5 update: applied"
  case updateChangedNothing = "5 update: nothing changed"
  case mergeWon = "5 merge: the edit wins"
  case mergeLost = "5 merge: the edit loses"
  case mergeCombined = "5 merge: both edits count"
  case updateBuried = "5 update: the deletion wins"
  case recordUnknown = "5 update: refused, unknown"
  case deleted = "5 delete: deleted"
  case deletedOverlap = "5 delete: what others changed is logged"
  case deletedNothing = "5 delete: nothing to do"
  case deletedUnknown = "5 delete: refused, a restore may have lost it"
  case cascaded = "5 delete: children go too"
  case setToNull = "5 delete: references become null"
  case restricted = "5 delete or move: refused, still referred to"
  case broughtForward = "5 order: a parent is created first"
  case referenceMissing = "5 reference: refused, names no record"
  case referenceEnded = "5 reference: to a record that is deleted, lost"
  case moved = "5 move: to another zone"
  case roleInsufficient = "5 any: refused, the role does not allow it"
  case uniqueTaken = "5 any: refused, the unique value is taken"
  case conflictResolved = "5.1 conflicts: somebody chose"
  case joined = "5 members: a member more"
  case lastOwner = "5 members: refused, the last owner"

  // 6.2: the sync engine
  case engineAsked = "6.2 resting: launched, asked or reachable"
  case engineEdited = "6.2 idle: edited"
  case engineTimer = "6.2 idle: timer"
  case engineRetried = "6.2 waiting: timer"
  case engineEditedWhileWaiting = "6.2 waiting: edited"
  case engineToldToGoOn = "6.2 syncing: edited or asked"
  case engineRested = "6.2 syncing: answered, nothing left"
  case engineWentOn = "6.2 syncing: answered, something left"
  case engineFailed = "6.2 syncing: failed, again later"
  case engineReplaced = "6.2 syncing: the identity was replaced meanwhile"
  case engineExpired = "6.2 syncing: 401"
  case engineDiverged = "6.2 syncing: diverged"
  case engineUnacceptable = "6.2 syncing: the request can't be taken, fewer change sets"
  case engineProbed = "6.2 syncing: a single change set can't be taken, a request without it"
  case engineUnacceptableAlone = "6.2 syncing: a single change set can't be taken, for good"
  case seedLeft = "6.2 signed in: a seed for somebody else is left behind"
  case engineLarge = "6.2 syncing: answered, a large new zone"
  case engineDownloaded = "6.2 syncing: a stretch of a snapshot"
  case snapshotApplied = "6.3 snapshot applied"
  case engineSignedIn = "6.2 any: signed in"
  case engineSignedOut = "6.2 any: signed out"

  case engineMoved = "6.2 idle: told that something moved"
  case engineMovedWhileWaiting = "6.2 waiting: told that something moved"

  // 6.5: the stream of events
  case streamOpened = "6.5 opening: hello, something may have been missed"
  case streamResumed = "6.5 opening: hello, nothing was missed"
  case streamMoved = "6.5 open: something moved"
  case streamSilent = "6.5 opening or open: silent for too long"
  case streamEnded = "6.5 opening or open: ended"
  case streamReplaced = "6.5 opening or open: another stream of the device"

  // 6.3: applying an answer
  case looseSealed = "6.3 step 2: loose edits sealed"
  case unknownSentAgain = "6.6: what a server did not know is sent again, as it has another schema"
  case quarantined = "6.3 step 4: a refused set goes to quarantine"
  case confirmed = "6.3 step 4: confirmed sets go"
  case partOutdated = "6.3 step 5: a part that follows another ack"
  case pageStaged = "6.3 step 5: a page staged"
  case pagesApplied = "6.3 step 5: staged pages applied"
  case rebased = "6.3 step 5: a dirty column keeps its value"
  case removed = "6.3 step 5: a tombstone removes"
  case resetBegun = "6.3 step 5: a zone begun anew"
  case resetPutOff = "6.3 step 5: a zone begun anew later"
  case resetDone = "6.3 step 5: what did not come anew is removed"
  case zoneLost = "6.3 step 6: a zone leaves"
  case orphanSettled = "6.3 step 6: an orphan of this device's edits"
  case hidden = "6.3 step 6: hidden below a deletion"
  case orphansDropped = "6.3 step 7: applied without orphans"
  case pageMissing = "6.3 crash: a page without its file"
  case replayed = "6.4 a record's steps taken again"
  case renumbered = "7 copy: a new identity, numbered anew"
}

/// Who counts transitions.
package enum Trace {
  /// Called for each transition that is taken; nil where nobody counts.
  ///
  /// nonisolated(unsafe): set by a simulation before anything else runs, and by nobody else.
  package nonisolated(unsafe) static var observer: ((Transition) -> Void)?

  @inline(__always)
  package static func took(_ transition: Transition) {
    if let observer { observer(transition) }
  }
}
