import Holdfast
import HoldfastCore
import HoldfastHTTP
import HoldfastSQLite
import HoldfastServer

extension World {
  // MARK: Start and end

  /// Starts the app unless it is running.
  func launch(_ device: SimulatedDevice) {
    guard device.apps.isEmpty else { return }
    if start(device) == nil { return relaunch(device) }
    recognize(device)
    guard let app = device.apps.first else { return }
    seal(app, device)
    if isRunning(app) { handle(.launched, app, device) }
  }

  /// Checks a device after one of its processes ended: its state must be unchanged, except for the interrupted activity.
  private func recognize(_ device: SimulatedDevice) {
    let (before, interrupted) = (device.view, device.interrupted)
    device.interrupted = .nothing
    look(at: device)
    // The new state may come from an answer whose commit failed before the write. Then the outbox and the loose edits have not grown.
    let isOfAnswer =
      device.hasUnsureAnswer && TextSet(before.outbox).isSuperset(of: device.view.outbox)
      && device.view.edits.count { $0.isLoose } <= before.edits.count { $0.isLoose }
    device.hasUnsureAnswer = false
    if interrupted == .writing, device.view.tables != before.tables, !isOfAnswer {
      oracle.wrote(
        device: device.machine, user: userID(of: device), before: before.tables, after: device.view.tables)
    }
    if interrupted == .writing, device.isDiscarding {
      oracle.discarded(device: device.machine, view: device.view)
    }
    oracle.reopened(
      device: device.machine, view: device.view, mayHaveApplied: interrupted == .other || isOfAnswer)
  }

  /// Starts a process of the app; nil if it did not start.
  @discardableResult
  func start(_ device: SimulatedDevice) -> SimulatedDevice.App? {
    let process = disk.start(on: device.machine)
    let source = ChanceSource(
      Chance(seed: plan.seed, UInt64(process.number) << 8 | UInt64(device.number) + 16))
    do {
      let database = try run(as: process) {
        try DatabaseOpening(
          path: device.path, schema: schema(device.version), access: .readWriteCreate,
          pages: SimulatedPages(disk, database: device.path),
          replica: Position.Replica(random: source.next()).string
        ).open()
      }
      if disk.isAlive(process) {
        let app = SimulatedDevice.App(
          process, database, SyncConversation(canStream: plan.hasStreams, random: { source.next() }))
        device.apps.append(app)
        history.add("\(device.machine): the app starts as process \(process.number)", at: now)
        return app
      }
    } catch {
      history.add("\(device.machine): the app does not start: \(error)", at: now)
      expectCalledFull(error, of: process)
    }
    disk.kill(process)
    return nil
  }

  /// Handles the possible death of a process in a step.
  ///
  /// - Returns: whether it is alive.
  func checkLife(
    _ app: SimulatedDevice.App, _ device: SimulatedDevice, _ interrupted: SimulatedDevice.Interrupted
  )
    -> Bool
  {
    if isRunning(app) { return true }
    history.add("\(device.machine): process \(app.process.number) died", at: now)
    device.apps.removeAll { !isRunning($0) }
    closeObserver(of: device)
    device.interrupted = interrupted
    if device.apps.isEmpty { relaunch(device) } else { recognize(device) }
    return false
  }

  private func relaunch(_ device: SimulatedDevice) {
    var chance = Chance(seed: seed, UInt64(now & 0xFFFF_FFFF))
    timeline.add(.launch(device), at: now + chance.number(in: 1...5000))
  }

  /// Ends all processes of a device, as the system does.
  func end(_ device: SimulatedDevice) {
    disk.killAll(on: device.machine)
    device.apps = []
    closeObserver(of: device)
  }

  func environment(of app: SimulatedDevice.App, _ device: SimulatedDevice) -> StoreEnvironment {
    let source = ChanceSource(Chance(seed: seed, UInt64(app.process.number)))
    let machine = device.machine
    return StoreEnvironment(
      now: { [unowned self] in time(on: machine) }, random: { source.next() }, sleep: { _ in })
  }

  // MARK: The person

  func write(_ device: SimulatedDevice, _ command: Command) {
    guard let app = device.apps.randomElement(by: command.seed) else { return }
    let environment = environment(of: app, device)
    let before = device.view
    let isForeign = command.seed % 8 == 0
    // What is here behind each change set of the transaction.
    var steps: [Tables] = []
    device.isDiscarding = command.seed % 32 == 2 && !before.quarantine.isEmpty
    do {
      try run(as: app.process) {
        if !plan.isPeaceful, command.seed % 8 == 1 { return _ = try Undo(database: app.database).run(nil) }
        if device.isDiscarding, let refused = before.quarantine.first {
          return try app.database.connection.transaction(.immediate) {
            try Quarantine(database: app.database).remove(refused.number)
          }
        }
        if command.seed % 8 == 2, let refused = before.quarantine.first {
          let inside = RawDatabase(inside: app.database.connection.database)
          return try AppTransaction(database: app.database).resend(refused.number) {
            Self.amend(&$0, command)
          } sealed: {
            steps.append(try inside.records(of: tables(device.version)))
          }
        }
        func edit(_ db: Database) throws {
          var person = Person(db, command, isPeaceful: plan.isPeaceful)
          try person.edit()
        }
        if isForeign {
          // Another program, which knows nothing of Holdfast. The triggers record its writes.
          let database = Database(local: app.database, environment: environment)
          try app.database.connection.transaction(.immediate) { try edit(database) }
        } else {
          try AppTransaction(database: app.database).write(environment, edit)
        }
      }
      guard checkLife(app, device, .writing) else { return }
      device.interrupted = .nothing
      look(at: device)
      var last = before.tables
      for step in steps.dropLast() + [device.view.tables] {
        oracle.wrote(device: device.machine, user: userID(of: device), before: last, after: step)
        last = step
      }
      if device.isDiscarding { oracle.discarded(device: device.machine, view: device.view) }
      oracle.resent(device: device.machine, view: device.view)
      if isForeign { seal(app, device) }
      if isRunning(app) { handle(.edited, app, device) }
    } catch {
      history.add("\(device.machine): not written: \(error)", at: now)
      expectCalledFull(error, of: app.process)
      guard checkLife(app, device, .writing) else { return }
      look(at: device)
      if device.view.tables != before.tables {
        oracle.report("I6", "\(device.machine): a write that threw \(error) left something behind")
      }
      guard let error = error as? SQLiteError, [.ioError, .full].contains(error.code.primary) else { return }
      // A commit that failed at its last step may take effect when the log is read again. The app crashes, so that nothing else happens
      // before that is known.
      end(device)
      device.interrupted = .writing
      relaunch(device)
    }
  }

  /// Replaces a value that may be taken already.
  private static func amend(_ operations: inout [QuarantinedOperation], _ command: Command) {
    for index in operations.indices where operations[index]["code"]?.stringValue != nil {
      operations[index]["code"] = .string("code of \(command.index)")
    }
  }

  /// Seals the writes of another program into a change set before it writes more, because the model treats each transaction as one.
  private func seal(_ app: SimulatedDevice.App, _ device: SimulatedDevice) {
    do {
      _ = try run(as: app.process) {
        try RequestPreparation(database: app.database).prepare(changeSetLimit: 1)
      }
    } catch {
      history.add("\(device.machine): not sealed: \(error)", at: now)
    }
    guard checkLife(app, device, .other) else { return }
    look(at: device)
    oracle.applied(device: device.machine, user: userID(of: device), view: device.view)
  }

  // MARK: The engine

  func handle(
    _ event: SyncMachine.Event, waiter: Int? = nil, _ app: SimulatedDevice.App, _ device: SimulatedDevice
  ) {
    step(app, device) { $0.handle(event, waiter: waiter, in: $1) }
  }

  /// Takes a step of an app's conversation, and performs its effects.
  func step(
    _ app: SimulatedDevice.App, _ device: SimulatedDevice,
    _ body: (SyncConversation, LocalDatabase) -> [SyncConversation.Effect]
  ) {
    let effects = run(as: app.process) {
      defer { app.database.checkpointIfLong(pages: plan.longLog) }
      return body(app.conversation, app.database)
    }
    guard checkLife(app, device, .other) else { return }
    perform(effects, app, device)
  }

  /// A device receives an answer or a timeout. Only the first for each request counts.
  func receive(_ answer: Result<TransportAnswer, StoreError>, to message: Message) {
    let (app, device) = (message.app, message.device)
    guard isRunning(app), app.exchanges.remove(message.number) != nil else { return }
    switch message.question {
    case .nothing: return
    case .inquiry(let inquiry): inquiry.answer = try? answer.get()
    case .session(let isNew): hearSession(answer, isNew: isNew, app, device)
    case .conversation(let question):
      troubled.remove(device.machine)
      let effects = run(as: app.process) {
        defer { app.database.checkpointIfLong(pages: plan.longLog) }
        return app.conversation.receive(answer, to: question, in: app.database)
      }
      if troubled.contains(device.machine) { device.hasUnsureAnswer = true }
      guard checkLife(app, device, .other) else { return }
      look(at: device)
      let open = oracle.devices[device.machine]?.open ?? []
      oracle.applied(device: device.machine, user: userID(of: device), view: device.view)
      if message.number <= server.lastOfLostHistory { oracle.heardLate(open, on: device.machine) }
      history.add(
        "\(device.machine): heard \(message.number); \(device.view.outbox.count) change sets wait", at: now)
      perform(effects, app, device)
    }
  }

  private func perform(
    _ effects: [SyncConversation.Effect], _ app: SimulatedDevice.App, _ device: SimulatedDevice
  ) {
    for effect in effects {
      switch effect {
      case .send(let request, let question): send(request, .conversation(question), app, device)
      case .schedule(let wait):
        app.timer += 1
        timeline.add(.timer(device, app, number: app.timer), at: now + wait.wholeMilliseconds)
      case .stopTimer: app.timer += 1
      case .openStream(let number, let token, let lastEventID):
        StreamTraffic(world: self).openStream(number, token: token, lastEventID: lastEventID, app, device)
      case .closeStream: StreamTraffic(world: self).closeStream(of: app)
      case .scheduleStream(let wait, let number):
        timeline.add(.streamTimer(device, app, number: number), at: now + wait.wholeMilliseconds)
      case .publish(.signedOut):
        app.isSignedOut = true
        timeline.add(.signIn(device), at: now + 2000)
      // Its devices have no snapshots.
      case .publish, .install, .tellMoved: break
      case .finish(let waiters, let result):
        let isDone = if case .success = result { true } else { false }
        for waiter in waiters { app.finished[waiter] = isDone }
      }
    }
  }

  // MARK: Sessions

  func signIn(_ device: SimulatedDevice) {
    guard device.wantsSession else { return }
    guard let app = device.apps.first else { return retrySignIn(device) }
    let isNew = !device.hasAccount
    do {
      let request: TransportRequest? = try run(as: app.process) {
        if try app.database.sessionToken() != nil, !app.isSignedOut { return nil }
        return try SessionRequests(database: app.database).request(
          isNew ? "v1/accounts" : "v1/sessions", name: device.user, password: "correct horse",
          device: device.machine)
      }
      guard checkLife(app, device, .other) else { return retrySignIn(device) }
      if let request { send(request, .session(isNew: isNew), app, device) }
    } catch {
      history.add("\(device.machine): no sign-in: \(error)", at: now)
      _ = checkLife(app, device, .other)
      retrySignIn(device)
    }
  }

  private func retrySignIn(_ device: SimulatedDevice) { timeline.add(.signIn(device), at: now + 2000) }

  private func hearSession(
    _ answer: Result<TransportAnswer, StoreError>, isNew: Bool, _ app: SimulatedDevice.App,
    _ device: SimulatedDevice
  ) {
    do {
      try run(as: app.process) { try SessionStart(database: app.database).adopt(try answer.get()) }
      guard checkLife(app, device, .other) else { return retrySignIn(device) }
      (device.hasAccount, app.isSignedOut) = (true, false)
      look(at: device)
      history.add("\(device.machine): \(device.user) is signed in", at: now)
      handle(.signedIn, app, device)
    } catch {
      history.add("\(device.machine): not signed in: \(error)", at: now)
      guard checkLife(app, device, .other) else { return retrySignIn(device) }
      if let problem = error as? Problem {
        // The answer to the sign-up may be lost, or another device of the person was first.
        if problem.code == .nameTaken { device.hasAccount = true }
        if problem.code == .credentialsWrong { device.hasAccount = false }
      }
      retrySignIn(device)
    }
  }
}

extension Array {
  fileprivate func randomElement(by seed: UInt64) -> Element? {
    isEmpty ? nil : self[Int(seed % UInt64(count))]
  }
}

/// Memberships that wait for their users' consent.
extension World {
  /// Every user with a session accepts pending memberships, except for some that are never answered.
  func answerInvitations() {
    guard acceptsMemberships, now >= acceptsAgainAt else { return }
    for (membership, user) in server.view.pending {
      guard !isIgnored(membership), let process = server.process, let inline = server.inline,
        disk.isAlive(process), let token = token(of: user)
      else { continue }
      oracle.accepted(membership)
      var headers = HTTPHeaders()
      headers.append(name: "Authorization", value: "Bearer \(token)")
      let response = run(as: process) {
        inline.respond(
          to: HTTPRequest(
            method: "POST", target: "/v1/memberships/\(membership.id)/accept", headers: headers, body: []))
      }
      history.add("server: \(user) accepts \(membership): \(response.status)", at: now)
      // A commit that failed wakes devices as well: it may have taken effect. Their syncs must not be what asks again.
      if response.status >= 500 { acceptsAgainAt = now + 30_000 }
      guard disk.isAlive(process) else { return serverDied() }
      lookAtServer()
    }
  }

  /// One in eight memberships of a plan is never answered.
  private func isIgnored(_ membership: RecordKey) -> Bool {
    !plan.isPeaceful && !plan.commands.isEmpty && (membership.id.utf8.last ?? 0) & 7 == 0
  }

  /// The token of one of a user's devices.
  private func token(of user: String) -> String? {
    for device in devices where userID(of: device) == user {
      guard let app = device.apps.first else { continue }
      if let token = run(as: app.process, { try? app.database.sessionToken() }),
        checkLife(app, device, .other)
      {
        return token
      }
    }
    return nil
  }
}

/// Invitations to lists, which people create and accept while they are online.
extension World {
  /// Occasionally creates an invitation, or accepts an existing one.
  func invite(with command: Command) {
    var chance = Chance(seed: command.seed, 13)
    guard !plan.isPeaceful, chance.one(in: 20), let device = chance.pick(devices),
      let app = device.apps.first
    else { return }
    let known = invitations.compactMap { $0.json["token"]?.stringValue }
    if chance.one(in: 2), let token = chance.pick(known) {
      return ask("POST", "v1/invitations/accept", ["token": .string(token)], Inquiry(), app, device)
    }
    let lists = device.view.tables.keys.filter { $0.table == "lists" }.sorted()
    guard let list = chance.pick(lists)?.id else { return }
    let (role, uses) = (chance.pick(["owner", "editor", "viewer"]) ?? "editor", 1 + chance.below(2))
    let invitation = Inquiry()
    invitations.append(invitation)
    oracle.invited(to: list, role: role, uses: uses)
    ask(
      "POST", "v1/zones/\(list)/invitations",
      ["role": .string(role), "expires_in": 86_400, "uses": .integer(Int64(uses))], invitation, app, device)
  }

  /// Sends a request of a device's user, besides its syncs.
  func ask(
    _ method: String, _ path: String, _ body: JSONValue?, _ inquiry: Inquiry, _ app: SimulatedDevice.App,
    _ device: SimulatedDevice
  ) {
    let token = run(as: app.process) { try? app.database.sessionToken() }
    guard checkLife(app, device, .other) else { return }
    let request = TransportRequest(method: method, path: path, token: token, body: body?.bytes)
    send(request, .inquiry(inquiry), app, device)
  }
}
