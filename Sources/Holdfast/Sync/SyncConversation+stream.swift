import HoldfastCore

extension SyncConversation {
  /// What has come of a stream.
  package enum StreamEvent: Sendable {
    case bytes([UInt8])
    /// It has ended, or was refused with a status.
    case ended(status: Int?, retryAfter: Int?)
  }

  /// The stream of events, and what is known of it.
  struct EventStream {
    var machine: EventStreamMachine
    /// Whether the engine runs, and streams can be had.
    var isWanted = false
    /// The number of the stream that counts; what an older one says is passed over.
    var number = 0
    /// The number of the timer that counts.
    var timer = 0
    var parser = EventStreamParser()
    /// Where to go on after the last event; of another session it is worth nothing.
    var lastEventID: (token: String, id: String)?
    var token = ""
  }

  /// Takes what has come of a stream.
  ///
  /// - Parameter number: the number that it was opened with.
  package func receive(_ event: StreamEvent, stream number: Int, in database: LocalDatabase) -> [Effect] {
    collect(database) {
      guard number == stream.number else { return }
      switch event {
      case .bytes(let bytes): receive(bytes, database)
      case .ended(let status, let retryAfter):
        run(stream: .ended(retryAfter: retryAfter), database)
        // The sync finds out whether the session has ended, and what to do then.
        if status == 401 { run(.pushed, database) }
      }
    }
  }

  /// Takes the timer of the stream.
  ///
  /// - Parameter number: the number that it was scheduled with.
  package func streamTimer(_ number: Int, in database: LocalDatabase) -> [Effect] {
    collect(database) { if number == stream.timer { run(stream: .timer, database) } }
  }

  /// The engine ends: there is no stream without it.
  package func rest(in database: LocalDatabase) -> [Effect] {
    collect(database) {
      stream.isWanted = false
      run(stream: .stop, database)
    }
  }

  /// What an event of the sync engine means for the stream.
  func follow(_ event: SyncMachine.Event, isSignedIn: Bool, _ database: LocalDatabase) {
    switch event {
    case .launched: stream.isWanted = canStream
    case .reachable: run(stream: .reachable, database)
    default: break
    }
    guard stream.isWanted, isSignedIn else { return run(stream: .stop, database) }
    switch event {
    case .signedIn, .identified: run(stream: .start, database)
    default: if stream.machine.state == .closed { run(stream: .start, database) }
    }
  }

  private func receive(_ bytes: [UInt8], _ database: LocalDatabase) {
    do {
      let events = try stream.parser.receive(bytes)
      stream.lastEventID = (stream.token, stream.parser.lastEventID)
      stream.machine.retryMilliseconds = stream.parser.retryMilliseconds ?? stream.machine.retryMilliseconds
      let number = stream.number
      for event in events.compactMap(EventStreamMachine.Event.init) where stream.number == number {
        run(stream: event, database)
      }
      if events.isEmpty { run(stream: .received, database) }
    } catch {
      // Not what a server of ours says.
      stream.number += 1
      effects.append(.closeStream)
      run(stream: .ended(retryAfter: nil), database)
    }
  }

  private func run(stream event: EventStreamMachine.Event, _ database: LocalDatabase) {
    for action in stream.machine.handle(event) {
      switch action {
      case .open: open(database)
      case .close:
        stream.number += 1
        effects.append(.closeStream)
      case .schedule(let wait):
        stream.timer += 1
        effects.append(.scheduleStream(wait, number: stream.timer))
      case .stopTimer: stream.timer += 1
      case .tell(let event): run(event, database)
      }
    }
  }

  private func open(_ database: LocalDatabase) {
    stream.number += 1
    stream.token = (try? database.sessionToken()) ?? ""
    let id = stream.lastEventID.flatMap { $0.token == stream.token ? $0.id : nil } ?? ""
    stream.parser = EventStreamParser(lastEventID: id)
    effects.append(
      .openStream(number: stream.number, token: stream.token, lastEventID: id.isEmpty ? nil : id))
  }
}

extension EventStreamMachine.Event {
  /// What an event of the server means; nil for one that is not known.
  fileprivate init?(_ event: ServerSentEvent) {
    let data = try? JSONValue(parsing: Array(event.data.utf8))
    switch event.type {
    case "hello":
      guard let heartbeat = data?["heartbeat_ms"]?.integerValue, case .bool(let hasMissed)? = data?["missed"]
      else { return nil }
      self = .hello(heartbeat: .milliseconds(heartbeat), hasMissed: hasMissed)
    case "zones": self = .moved
    case "replaced": self = .replaced
    default: return nil
    }
  }
}
