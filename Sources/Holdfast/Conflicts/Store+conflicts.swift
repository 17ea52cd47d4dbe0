extension Store {
  /// The concurrent edits, oldest first, now and after every change.
  ///
  /// - Parameter onlyOpen: only the questions that wait for a person's answer; see `Conflict.isOpen`.
  public func liveConflicts(onlyOpen: Bool = false) -> AsyncThrowingStream<[Conflict], any Error> {
    live(Conflict.self, Conflict.query(onlyOpen: onlyOpen))
  }
}

extension Database {
  /// The concurrent edits, oldest first; see `Store.liveConflicts`.
  public func conflicts(onlyOpen: Bool = false) throws -> [Conflict] {
    try fetch(Conflict.self, Conflict.query(onlyOpen: onlyOpen))
  }
}
