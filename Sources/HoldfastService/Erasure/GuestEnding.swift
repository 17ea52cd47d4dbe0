import HoldfastCore

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
  func withdraw(_ session: NewSession) throws {
    if let number = try work.store.devices.number(of: session.device, user: session.user),
      try work.store.devices.session(of: session.device, user: session.user)?.number == session.number
    {
      try Accounts(work).revoke(number)
    }
  }

  /// Ends what the directory says has ended. A repeat does nothing.
  func end(_ ends: GuestEnds, at now: Stamp) throws {
    for device in ends.homeDevices {
      for number in try work.store.guests.devices(dependingOn: device) { try end(number) }
    }
    let time = work.clock.trusted.now()
    for number in ends.expired {
      // Another pass may have been shown since it was found.
      if let session = try work.store.guests.session(of: number), session.endsAt <= time {
        try end(number)
      }
    }
    for user in ends.users { try erase(user, at: now) }
  }

  private func end(_ number: Int64) throws {
    try Accounts(work).revoke(number)
    try work.store.guests.dropSession(of: number)
  }

  /// Begins the erasure of a guest. A user who is not known here becomes one who is erased: a request may be about to make the guest.
  private func erase(_ user: String, at now: Stamp) throws {
    let accounts = work.store.accounts
    if try !accounts.isKnown(user) {
      try accounts.add(user, name: Erasure.name(of: user), password: "", at: now)
    } else if try work.store.guests.home(of: user) == nil || accounts.name(ofID: user) == nil {
      return
    }
    try Erasing(work).beginErasure(of: user)
    // The home has told it.
    try work.store.guests.setTold([], erased: [user])
  }
}
