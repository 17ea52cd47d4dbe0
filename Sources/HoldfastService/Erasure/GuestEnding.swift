/// What the directory says about guests.
package struct GuestEnds: Sendable {
  /// Devices of the home whose sessions have ended.
  package var homeDevices: [String] = []
  /// Users whom their home has erased.
  package var users: [String] = []
  /// Devices whose sessions have lasted their time.
  package var expired: [Int64] = []

  package init() {}

  package var isEmpty: Bool { homeDevices.isEmpty && users.isEmpty && expired.isEmpty }
}

/// Ends the sessions of guests, and begins their erasure: docs/DIRECTORY.md, section 5.
package struct GuestEnding {
  package let work: UnitOfWork

  package init(_ work: UnitOfWork) { self.work = work }

  /// Ends a session that has just begun: the pass was used elsewhere, or withdrawn.
  ///
  /// - Parameter isErased: whether the home has erased the user meanwhile.
  func withdraw(_ session: NewSession, isErased: Bool) throws {
    if let number = try work.store.devices.number(of: session.device, user: session.user),
      try work.store.devices.session(of: session.device, user: session.user)?.number == session.number
    {
      try Accounts(work).revoke(number)
    }
    if isErased { try erase(session.user) }
  }

  /// Ends what the directory says has ended. A repeat does nothing.
  func end(_ ends: GuestEnds) throws {
    for device in ends.homeDevices {
      for number in try work.store.guests.devices(dependingOn: device) { try end(number) }
    }
    let now = work.clock.trusted.now()
    for number in ends.expired {
      // Another pass may have been shown since it was found.
      if let session = try work.store.guests.session(of: number), session.endsAt <= now {
        try end(number)
      }
    }
    for user in ends.users { try erase(user) }
  }

  private func end(_ number: Int64) throws {
    try Accounts(work).revoke(number)
    try work.store.guests.dropSession(of: number)
  }

  private func erase(_ user: String) throws {
    guard try work.store.guests.home(of: user) != nil, try work.store.accounts.name(ofID: user) != nil else {
      return
    }
    try Erasing(work).beginErasure(of: user)
    // The home has told it.
    try work.store.guests.setTold([], erased: [user])
  }
}
