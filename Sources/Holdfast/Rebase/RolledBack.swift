/// What came of taking change sets back.
struct RolledBack {
  /// The records that were deleted here and are back: some may be gone on the server, and the device was not to be told while it had none.
  var back: [CreatedRecord] = []
  /// The change sets of which a later one deleted a record.
  var deletedBehind: Set<Int64> = []
}
