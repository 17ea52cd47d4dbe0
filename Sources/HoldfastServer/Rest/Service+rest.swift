import HoldfastCore

extension Service {
  /// Writes what a request of REST says, or finds how it was answered before.
  ///
  /// - Throws: `Problem` before anything is written.
  func rest(_ command: RestCommand, at now: Stamp) throws -> Outcome {
    let device = try device(command.key)
    let number = command.key.number
    let run = RestRun(
      command, by: Author(device: number, user: device.user, clock: now, isPresent: true), on: self)
    if let request = command.request, let answer = try replay(request, of: command, run) {
      return .rest(answer, isReplay: true)
    }
    let answer = restText.answer(try run.run(), command.form)
    if let request = command.request {
      try store.requests.add(
        AnsweredRequest(request: request, at: environment.now(), answer: answer), to: number)
      if !run.created.isEmpty {
        try store.requests.add(run.created, by: request, of: number, user: device.user)
      }
    }
    // The clock of a database that is opened goes on from what devices wrote last.
    try store.devices.advance(number, to: device, clock: now, at: environment.now())
    return .rest(answer, isReplay: false)
  }

  /// What a request with an id was answered with; nil when it is the first one of this id, or nothing is known of it any more.
  private func replay(
    _ request: RequestKey, of command: RestCommand, _ run: RestRun
  ) throws -> RestAnswer? {
    let device = command.key.number
    if let known = try store.requests.answer(to: request.id, of: device),
      RequestRetention.isKept(known.at, now: clock.trusted.now())
    {
      guard known.request == request else { throw Problem(.requestIDReused) }
      // What was shown then may be hidden from the sender by now.
      guard try run.isHidden(known.answer) else { return known.answer }
      let made = try store.requests.created(by: request.id, of: device)?.records ?? []
      return restText.answer(try run.recall(made), command.form)
    }
    guard let known = try store.requests.created(by: request.id, of: device) else { return nil }
    guard known.request == request else { throw Problem(.requestIDReused) }
    return restText.answer(try run.recall(known.records), command.form)
  }
}
