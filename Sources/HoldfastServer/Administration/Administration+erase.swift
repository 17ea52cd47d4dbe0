import HoldfastCore
import HoldfastService

extension Administration {
  /// Erases a user: docs/EXPORT-AND-ERASURE.md, section 2. Also while servers run, which end what this leaves.
  ///
  /// - Parameter pause: lets time go by between two steps, in which servers write.
  /// - Returns: the user's id, and whether nothing is left.
  /// - Throws: `ServerError.notFound` when there is no such user.
  public func erase(
    _ name: String, pause: @escaping (Duration) -> Void = { _ in }
  ) throws -> (id: String, isDone: Bool) {
    let user = try change { work, _ in
      guard let user = try work.store.accounts.id(ofName: name) else {
        throw ServerError(.notFound, "There is no user \(name). `holdfast users` lists them.")
      }
      try Erasing(work).beginErasure(of: user)
      return user
    }
    // What users who are erased at the same time leave to each other takes another pass.
    while try database.read({ try $0.isBeingErased(user) }) {
      let step = try pass(Retention(), pause).run(Purgeable.Kind.ofErasures)
      if step.erasedRecords + step.remains + step.users == 0 { return (user, false) }
    }
    return (user, true)
  }
}

extension StoreReader {
  /// Whether something of a user who is being erased is left.
  fileprivate func isBeingErased(_ user: String) throws -> Bool {
    var last = ""
    while let next = try erasedUser(after: last) {
      if next == user { return true }
      last = next
    }
    return false
  }
}
