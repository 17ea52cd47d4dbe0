import HoldfastConcurrency

extension HTTPConnection {
  /// The whole request is here: calls the handler, and sends the answer if there is one when it returns.
  func handle() -> Bool {
    guard let head else { return close() }
    readCodings()
    state = .handling
    deadline = nil
    let exchange = Exchange(self)
    self.exchange = exchange
    let request = request(self.head ?? head, body: body)
    body = []
    callHandler(request, exchange)
    return takeAnswer()
  }

  /// In a function of its own, so that a responder that the handler did not keep is gone, and has answered 500,
  /// when it returns.
  @inline(never)
  private func callHandler(_ request: HTTPRequest, _ exchange: Exchange) {
    loop.handling { core.handler(request, HTTPResponder(exchange)) }
  }

  /// Takes what was waited for, if it is there; whether the connection goes on at once.
  @discardableResult
  func takeAnswer() -> Bool {
    guard let exchange else { return false }
    guard let found = exchange.takeOrWait() else {
      if state == .handling, exchange.isStreaming {
        state = .streaming
        // What the system has said before is not said again.
        if isAbandoned { exchange.endStream() }
      }
      return false
    }
    switch found {
    case .response(let response): return state == .admission ? refuse(response) : answer(response)
    case .failure(let status):
      let response = core.failure(HTTPFailure(status, requestHeaders))
      return state == .admission ? refuse(response) : answer(response)
    case .make(let make): return answer(loop.handling(make))
    case .admitted(let limit, let payer): return admit(limit, payer)
    case .decoded(let bytes):
      body = bytes
      return takeRoom(for: body.count) ? handle() : answer(core.failure(HTTPFailure(503, requestHeaders)))
    case .endOfStream(let isWhole):
      if isWhole { transport.finish() }
      return close()
    }
  }

  /// Begins to send an answer.
  func answer(_ response: HTTPResponse) -> Bool {
    var response = coded((200...599).contains(response.status) ? response : core.failure(HTTPFailure(500)))
    guard takeShare(&response) else { return close() }
    let keepsAlive = head?.keepsAlive ?? false
    isLast = isLast || !keepsAlive || core.isStopping
    let connection: ResponseHead.Connection =
      isLast ? .close : head?.isVersion10 ?? false ? .keepAlive : .implied
    let head = ResponseHead(response, connection, date: loop.date, log: core.log)
    output = Output(head.bytes, response, isHead: self.head?.method == "HEAD")
    state = .writing
    deadline = .now + core.responseDeadline
    return true
  }

  /// Takes room for a large answer; one for which there is none becomes a 503.
  private func takeShare(_ response: inout HTTPResponse) -> Bool {
    payers = response.payers
    if response.body.count <= HTTPLimits.smallAnswerBytes { return true }
    share = core.answers.take(response.body.count, for: payers.isEmpty ? [remoteAddress] : payers)
    if share != nil { return true }
    response = core.failure(HTTPFailure(503, requestHeaders))
    return response.body.count <= HTTPLimits.smallAnswerBytes
  }

  /// Sends on; whether the connection goes on at once.
  func writeOut() -> Bool {
    guard canWrite else { return false }
    guard var writing = output else { return close() }
    output = nil
    let progress = writing.write(to: transport)
    switch progress {
    case .ended: return close()
    case .blocked:
      canWrite = false
      // Small ones count from here on: most are gone by now.
      if share == nil, writing.heldBytes > 0 {
        share = core.answers.take(writing.heldBytes, for: payers.isEmpty ? [remoteAddress] : payers)
        if share == nil { return close() }
      }
      output = writing
      return false
    case .bytes where !writing.isDone:
      output = writing
      return true
    case .bytes: return finishAnswer()
    }
  }

  private func finishAnswer() -> Bool {
    endRequest()
    if !isLast {
      if core.isStopping, input.isEmpty { return close() }
      state = .head
      deadline = .now + (input.isEmpty ? core.idleTimeout : core.requestDeadline)
      return true
    }
    transport.finish()
    state = .lingering
    deadline = .now + core.lingering
    if isRefused { return true }
    // Nothing more is expected: what is there all the same must not reset the connection.
    while discard() {}
    return close()
  }
}
