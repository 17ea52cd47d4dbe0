import Holdfast

/// What the screen hears of.
enum ScreenEvent: Sendable {
  case typed([UInt8])
  /// So long no more bytes have come that an Escape is one by itself.
  case escapeWaited
  case resized, stopped, continued
  /// The terminal was closed, or a signal ends the program.
  case ended
  case lists([ListLine])
  case items([Readable<Item>], list: String)
  case conflicts([ShownConflict])
  case quarantine([QuarantinedChangeSet])
  case status(SyncStatus)
  /// A sentence for the person.
  case said(String)
  /// Nothing more can be read from the database.
  case failed(any Error)
}

/// What the screen wants to be done.
enum ScreenEffect: Hashable, Sendable {
  case quit, stop, sync, undo
  case edit(ScreenEdit)
  case answer(Conflict, Conflict.Choice)
  case resend(Int64)
  case discard(Int64)
}
