package import HoldfastCore

/// Executes REST requests, and replays the answers of earlier ones: docs/PROTOCOL.md, section 9.
package struct RestRequests {
  /// For how long it is not written down again that a device is alive, of a session that writes.
  private static let presence = Duration.seconds(60)

  package let work: UnitOfWork
  let text: RestText

  init(_ work: UnitOfWork, _ text: RestText) { (self.work, self.text) = (work, text) }

  /// Executes a REST request, or a part of it within the time budget. A repeated request gets its stored answer.
  ///
  /// - Throws: `Problem` before anything is written.
  package func rest(_ command: RestCommand, at now: Stamp) throws -> Outcome {
    let device = try work.device(command.key)
    let number = command.key.number
    let run = RestRun(
      command, by: Author(device: number, user: device.user, clock: now, isPresent: true), on: work, text)
    var begun = command.progress
    if let request = command.request {
      switch try earlier(request, of: command, run) {
      case .answer(let answer)?: return .rest(answer, isReplay: true)
      case .progress(let progress)?: begun = progress
      case nil: break
      }
    }
    let (answer, progress) = try go(on: run, command, after: begun)
    var shown = answer
    // The answer `zone-full` is not stored, so a repeat of the request runs again.
    if let request = command.request, answer?.status != ProblemCode.zoneFull.status {
      if !run.created.isEmpty {
        try work.stores.requests.add(run.created, by: request, of: number, user: device.user)
      }
      // The answer may contain records from an earlier transaction that the client may not see any more.
      if begun.done > 0 { shown = try answer.map(run.replay) }
      let kept = try shown.map(run.kept) ?? RestAnswer(unfinished: progress)
      try work.stores.requests.add(
        AnsweredRequest(request: request, at: work.clock.trusted.written(), answer: kept), to: number)
    }
    try notePresence(of: device, number)
    return shown.map { .rest($0, isReplay: run.hasRecalled) } ?? .unfinished(progress)
  }

  /// Writes down, once a session and once a minute, that a device is alive. Its clock is that of its sync requests.
  private func notePresence(of device: DeviceState, _ number: Int64) throws {
    let now = work.clock.trusted.written()
    if device.isSessionUsed, device.seenAt <= now, now < device.seenAt.addingClamped(Self.presence) { return }
    try work.stores.devices.advance(number, to: device, clock: device.clock, at: now)
  }

  /// Executes the rest of a request, or a part of it.
  ///
  /// - Returns: the answer if all items are done, and the progress.
  private func go(
    on run: RestRun, _ command: RestCommand, after begun: RestProgress
  ) throws -> (answer: RestAnswer?, progress: RestProgress) {
    switch command.form {
    case .atomic: return (text.answer(try run.runTogether(), command.form, in: work.store.history), begun)
    case .single:
      let results = try run.runEach(after: begun)
      var progress = begun
      progress.cut = run.cut
      if run.cut != nil { return (nil, progress) }
      return (text.answer(.results(results), command.form, in: work.store.history), progress)
    case .each:
      var progress = begun
      let results = try run.runEach(after: begun)
      progress.cut = run.cut
      text.add(results, to: &progress)
      return (progress.done < command.items.count ? nil : text.answer(progress), progress)
    }
  }

  /// The stored state of a request with an id.
  private enum Earlier {
    case answer(RestAnswer)
    /// A part of the request is done.
    case progress(RestProgress)
  }

  /// The stored answer or progress of a request with an id. Nil if the id is new, or its data is purged.
  private func earlier(
    _ request: RequestKey, of command: RestCommand, _ run: RestRun
  ) throws -> Earlier? {
    let device = command.key.number
    if let known = try work.stores.requests.answer(to: request.id, of: device),
      RequestRetention.isKept(known.at, now: work.clock.trusted.now())
    {
      guard known.request == request else { throw Problem(.requestIDReused) }
      guard let progress = known.answer.progress else { return .answer(try run.replay(known.answer)) }
      run.learn(made: try work.stores.requests.created(by: request.id, of: device)?.records ?? [])
      return .progress(progress)
    }
    guard let known = try work.stores.requests.created(by: request.id, of: device) else { return nil }
    guard known.request == request else { throw Problem(.requestIDReused) }
    run.learn(made: known.records)
    // The request is still in progress, even if its stored progress is purged.
    if command.progress.done > 0 { return nil }
    // Of items that stand alone nobody knows whether those that created nothing were refused: they are done again.
    if command.form == .each, known.records.count < command.items.count { return nil }
    return .answer(text.answer(try run.recall(), command.form, in: work.store.history))
  }
}
