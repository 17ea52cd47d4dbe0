package import HoldfastCore

/// While the slow lane waited for its locks, another transaction has made a record or zone that these do not include. The next attempt
/// locks it.
private struct Blocked: Error, CustomStringConvertible {
  let description = "Another transaction has made a record or zone that it needs."
}

/// The rules of the server over one store: applies commands, many per transaction. One thread at a time may use it. It has no threads,
/// clock or randomness of its own.
package final class Service {
  /// How a service treats commands that other transactions block.
  package enum Lane {
    /// The fast lane: such a command is deferred.
    case fast
    /// The slow lane: such a command waits for its turn, and in the last one is answered with `busy`.
    case slow
  }

  /// One attempt of the slow lane to apply a command that other transactions block.
  package struct Turn: Sendable {
    /// How long each statement waits for a lock. It gives way before PostgreSQL's `deadlock_timeout`.
    package var patience = Duration.milliseconds(500)
    /// Whether a command that is still blocked is answered, and not deferred again.
    package var isLast = true

    package init(patience: Duration = .milliseconds(500), isLast: Bool = true) {
      (self.patience, self.isLast) = (patience, isLast)
    }
  }

  /// How long the fast lane waits for a lock: all of a node's writes wait with it. Other nodes hold their locks for less.
  private static let fastPatience = Duration.milliseconds(20)
  /// How long the commands of a batch that failed wait when each runs alone. There may be many that are blocked.
  private static let alonePatience = Duration.milliseconds(5)
  /// How often a failure that may pass at once is retried.
  private static let attempts = 2
  /// The number of turns of a command that nothing else waits behind.
  private static let turns = 20

  package let work: UnitOfWork
  private let restText: RestText
  private let lane: Lane
  private let log: @Sendable (String) -> Void

  /// - Parameters:
  ///   - rules: the team's rules. They must fit the schema.
  ///   - clock: shared with the other writers of this process.
  ///   - log: receives the reason of an unexpected failure, without user data.
  package init(
    _ store: any StoreWriter, _ schema: SyncSchema, _ lane: Lane, rules: Rules, clock: ServiceClock,
    environment: ServerEnvironment, log: @escaping @Sendable (String) -> Void
  ) {
    self.lane = lane
    self.log = log
    work = UnitOfWork(store, schema, rules: rules, clock: clock, environment: environment, log: log)
    restText = RestText(schema)
  }

  /// Applies commands in one transaction. It is durable when this returns.
  ///
  /// - Parameter turn: what the slow lane does about locks.
  /// - Returns: the outcome of each command, or the problem that refused only this command. Nil for a command that the lane defers. If the disk is
  ///   full or fails, all commands get that problem, and nothing was written. If the transaction uses up its time budget, the result is
  ///   shorter: the last commands were not processed. It is never empty.
  package func apply(_ commands: [ServiceCommand], _ turn: Turn = Turn()) -> [Result<Outcome, Problem>?] {
    apply(commands, turn, patience: lane == .fast ? Self.fastPatience : turn.patience)
  }

  /// Applies one command in the slow lane, in several turns if it is blocked.
  package func applyInTurns(_ command: ServiceCommand) -> Result<Outcome, Problem> {
    for turn in 1...Self.turns {
      if let result = apply([command], Turn(isLast: turn == Self.turns))[0] { return result }
    }
    return .failure(Problem(.busy, retryAfter: 1))
  }

  private func apply(
    _ commands: [ServiceCommand], _ turn: Turn, patience: Duration
  ) -> [Result<Outcome, Problem>?] {
    var (attempt, isCareful, epochs) = (1, false, 0)
    let alone = { [self] in
      commands.flatMap { apply([$0], turn, patience: min(patience, Self.alonePatience)) }
    }
    work.store.patience = patience
    work.condemn(nil)
    while true {
      do { return try self.attempt(commands, isCareful: isCareful) } catch let error
        where work.store.reliesOnMemory && !(error is UnknownOutcome)
      {
        // Only an attempt that has asked the database decides anything by an error.
        work.store.rollBack()
      } catch let proof as HistoryWentBack {
        work.store.rollBack()
        epochs += 1
        do {
          // The history goes back repeatedly. The server fails instead of beginning epoch after epoch.
          if epochs > 2 { throw proof }
          // Another node may have begun an epoch at the same moment.
          _ = try work.store.beginEpoch(
            NewEpoch(work.environment, because: proof.reason, isForkKnown: proof.isForkKnown),
            after: proof.epoch)
          Trace.took(.historyWentBack)
        } catch { return fail(commands, Problem(.busy, retryAfter: 5), error) }
      } catch let unknown as UnknownOutcome {
        work.store.rollBack()
        log(
          "Of \(commands.count) \(commands.count == 1 ? "write" : "writes") the outcome is unknown: \(unknown)"
        )
        return commands.map { command in
          var problem = Problem(.busy, retryAfter: 5)
          problem.isUnsure = command.hasEffectOfEach
          return .failure(problem)
        }
      } catch let end as EndedTransaction {
        work.store.rollBack()
        if commands.count > 1 { return alone() }
        work.condemn(end)
      } catch {
        work.store.rollBack()
        switch error is Blocked ? .transient : work.store.meaning(of: error) {
        case .full: return fail(commands, Problem(.storageFull, retryAfter: 30), error)
        case .unavailable: return fail(commands, Problem(.busy, retryAfter: 5), error)
        case .denied:
          if commands.count > 1 { return alone() }
          return fail(commands, Problem(.busy, retryAfter: 60), error)
        case .transient where attempt < Self.attempts: attempt += 1
        case .transient, .blocked:
          if commands.count > 1 { return alone() }
          return lane == .fast || !turn.isLast ? [nil] : fail(commands, Problem(.busy, retryAfter: 1), error)
        case .rule, .other:
          // One command is at fault. Run alone, it affects no other command.
          if commands.count > 1 { return alone() }
          // Nothing was written yet, so no rule is violated: a read failed, for example at its time limit.
          if case .rule = work.store.meaning(of: error), !work.hasBegun {
            return fail(commands, Problem(.busy, retryAfter: 5), error)
          }
          guard case .rule = work.store.meaning(of: error), !isCareful else {
            return fail(commands, Problem(.internalError), error)
          }
          isCareful = true
        }
      }
    }
  }

  /// Gives back the memory of the last transaction, which can wait until the answers are on their way. Without this call, the next transaction
  /// begins with it.
  package func release() { work.transaction.release() }

  /// The notifications of the commands since the last call, for the event streams.
  package func takeChanges() -> ZoneChanges {
    defer { work.changes = ZoneChanges() }
    return work.changes
  }

  /// What the transactions that were committed since the last call did, in numbers.
  package func takeTally() -> Tally {
    defer { work.tally = Tally() }
    return work.tally
  }

  /// Closes the store.
  package func close() {
    do { try work.store.close() } catch { log("The database was not closed well: \(error)") }
  }

  private func fail(_ commands: [ServiceCommand], _ problem: Problem, _ error: any Error) -> [Result<
    Outcome, Problem
  >?] {
    log("\(commands.count) \(commands.count == 1 ? "write was" : "writes were") rolled back: \(error)")
    return commands.map { _ in .failure(problem) }
  }

  private func attempt(_ commands: [ServiceCommand], isCareful: Bool) throws -> [Result<Outcome, Problem>?] {
    let (waiting, now) = try work.begin(
      commands.map { $0.footprint(work.stores.schema) }, isCareful: isCareful)
    if lane == .slow, !waiting.isEmpty { throw Blocked() }
    var results: [Result<Outcome, Problem>?] = []
    results.reserveCapacity(commands.count)
    for (index, command) in commands.enumerated() {
      if waiting.contains(index) {
        results.append(nil)
        continue
      }
      if index > 0, work.hasTakenItsTime || command.isBegun { break }
      work.stores.ledger.author = 0
      work.stores.ledger.scope = command.key?.use.scope
      work.stores.unreachable = command.unreachable
      do { results.append(.success(try apply(command, at: now))) } catch let problem as Problem {
        results.append(.failure(problem))
      }
    }
    try work.commit(at: now)
    guard let number = work.store.committed else { return results }
    return results.map { result in
      guard case .success(.synced(var outcome)) = result else { return result }
      outcome.written = number
      return .success(.synced(outcome))
    }
  }

  private func apply(_ command: ServiceCommand, at now: Stamp) throws -> Outcome {
    let (accounts, invitations) = (Accounts(work), Invitations(work))
    switch command {
    case .sync(let command): return try SyncRun(work).sync(command, at: now)
    case .rest(let command): return try RestRequests(work, restText).rest(command, at: now)
    case .signUp(let signUp): return .session(try accounts.signUp(signUp, at: now))
    case .signIn(let signIn): return .session(try accounts.signIn(signIn, at: now))
    case .signInByProvider(let signIn): return .session(try accounts.signIn(signIn, at: now))
    case .notePass(let key): return .pass(device: try Guests(work).notePass(by: key))
    case .signInAsGuest(let signIn): return .session(try Guests(work).signIn(signIn, at: now))
    case .addGuests(let guests): try Guests(work).add(guests, at: now)
    case .withdrawGuest(let session): try GuestEnding(work).withdraw(session)
    case .endGuests(let ends): try GuestEnding(work).end(ends, at: now)
    case .told(let ended, let erased): try work.store.guests.setTold(ended, erased: erased)
    case .introduce(let proven): try accounts.introduce(proven, at: now)
    case .copyDevice(let key, let name, let token):
      return .session(try accounts.copyDevice(key, name: name, token: token, at: now))
    case .signOut(let key): try accounts.signOut(key)
    case .setPushToken(let key, let token): try accounts.setPushToken(token, by: key)
    case .makeTicket(let key, let ticket): try accounts.makeTicket(ticket, by: key)
    case .takeTicket(let ticket): return .ticket(try accounts.takeTicket(ticket))
    case .revoke(let key, let id): try accounts.revoke(id, by: key)
    case .revokeOthers(let key): try accounts.revokeOthers(by: key)
    case .changePassword(let change): try accounts.changePassword(change)
    case .erase(let key, let password): try Erasing(work).erase(by: key, password: password)
    case .invite(let key, let invitation, let token):
      try invitations.invite(invitation, token, by: key, at: now)
    case .revokeInvitation(let key, let id, let zone):
      try invitations.revokeInvitation(id, to: zone, by: key)
    case .accept(let key, let token):
      return try work.whole { try invitations.accept(token, by: key, at: now) }
    case .membership(let key, let change):
      return try work.whole { try Memberships(work).membership(change, by: key, at: now) }
    case .keepResult(let result): try work.store.results.keep(result, at: work.environment.now())
    case .notified(let zones, let gone):
      try work.store.zones.setNotified(zones)
      try work.store.devices.removePushTokens(gone)
    case .keepSamples(let samples):
      try work.store.operators.put(samples, at: work.clock.trusted.now())
    case .keepTime(let isTrusted): return .time(try Purging(work).keepTime(isTrusted: isTrusted))
    case .purge(let item, let terms): return .purged(try Purging(work).purge(item, terms, at: now))
    case .probe: try work.store.probe(now.text)
    }
    return .done
  }
}
