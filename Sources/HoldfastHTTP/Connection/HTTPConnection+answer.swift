import HoldfastConcurrency

extension HTTPConnection {
  /// Calls the handler for a complete request, and sends the answer if the handler has set one.
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

  /// A function of its own, so that an unused responder is released, and has answered 500, when it returns.
  @inline(never)
  private func callHandler(_ request: HTTPRequest, _ exchange: Exchange) {
    loop.handling { core.handler(request, HTTPResponder(exchange)) }
  }

  /// Fetches the awaited answer, if present. Returns whether the connection continues immediately.
  @discardableResult
  func takeAnswer() -> Bool {
    guard let exchange else { return false }
    guard let found = exchange.takeOrWait() else {
      if state == .handling, exchange.isStreaming {
        state = .streaming
        // The system reports the end of a connection only once.
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

  /// Reserves memory for a large answer. Without room, the answer becomes a 503.
  private func takeShare(_ response: inout HTTPResponse) -> Bool {
    payers = response.payers
    if response.body.count <= HTTPLimits.smallAnswerBytes { return true }
    share = core.answers.take(response.body.count, for: payers.isEmpty ? [remoteAddress] : payers)
    if share != nil { return true }
    response = core.failure(HTTPFailure(503, requestHeaders))
    return response.body.count <= HTTPLimits.smallAnswerBytes
  }

  /// Continues to send. Returns whether the connection continues immediately.
  func writeOut() -> Bool {
    guard canWrite else { return false }
    guard var writing = output else { return close() }
    output = nil
    let progress = writing.write(to: transport)
    switch progress {
    case .ended: return close()
    case .blocked:
      canWrite = false
      // Small answers count only from here on, because most are already sent.
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
    // Reads bytes that the client sent after its request. Otherwise closing the socket would reset the connection.
    while discard() {}
    return close()
  }
}
