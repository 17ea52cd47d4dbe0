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
    case .failure(let status): return fail(status)
    case .expired:
      // A write may be done, now or later. Its client must not get a 503, which says that nothing happened.
      if state == .coding || state == .handling && !isSafe { return close() }
      return fail(503)
    case .make(let make): return answer(loop.handling(make))
    case .admitted(let limit, let payer): return admit(limit, payer)
    case .decoded(let bytes):
      body = bytes
      return takeRoom(for: body.count) ? handle() : fail(503)
    case .coded(let response):
      share = nil
      return send(response)
    case .endOfStream(let isWhole):
      if isWhole { transport.finish() }
      return close()
    }
  }

  /// Whether the method has no effect.
  private var isSafe: Bool { ["GET", "HEAD", "OPTIONS"].contains(head?.method ?? "") }

  private func fail(_ status: Int) -> Bool {
    let response = failure(status)
    return state == .admission ? refuse(response) : answer(response)
  }

  /// The owner's answer to a failure of the current request.
  func failure(_ status: Int) -> HTTPResponse {
    if let head {
      return core.failure(HTTPFailure(status, request(head, body: []), began: began))
    }
    let start = reader.start
    let request = HTTPRequest(
      id: nextRequestID(), method: start.method, target: start.target, headers: reader.headers,
      remoteAddress: remoteAddress, isSecure: transport.isSecure)
    return core.failure(HTTPFailure(status, request, began: .now))
  }

  /// Begins to answer. Another thread compresses a large answer first.
  func answer(_ response: HTTPResponse) -> Bool {
    if response.isCut {
      response.report?(nil)
      return close()
    }
    let response = varied((200...599).contains(response.status) ? response : failure(500))
    guard !isHead, let coding = coding(of: response) else { return send(response) }
    if response.contentLength <= Coder.inlineAnswerBytes { return send(response.coded(by: coding)) }
    // Until it is compressed, the answer counts for the client whose turn it takes.
    let turn = response.payers.last ?? network
    share = core.answers.take(Int(response.contentLength), for: [turn])
    let exchange = Exchange(self)
    let code: Coder.Work = { exchange.answer(.coded(response.coded(by: coding))) }
    guard share != nil, core.coder.enqueue(code, of: turn) else {
      share = nil
      return send(response)
    }
    self.exchange = exchange
    state = .coding
    deadline = nil
    return takeAnswer()
  }

  private var isHead: Bool { head?.method == "HEAD" }

  /// Begins to send an answer.
  private func send(_ response: HTTPResponse) -> Bool {
    guard let sent = withShare(response) else {
      response.report?(nil)
      return close()
    }
    sent.report?(sent)
    let keepsAlive = head?.keepsAlive ?? false
    isLast = isLast || !keepsAlive || core.isStopping
    let connection: ResponseHead.Connection =
      isLast ? .close : head?.isVersion10 ?? false ? .keepAlive : .implied
    // The length of a compressed content is unknown without compressing it: RFC 9110, section 8.6.
    let hasLength = !isHead || coding(of: sent) == nil
    let head = ResponseHead(sent, connection, hasEnd: hasLength, date: loop.date, log: core.log)
    output = Output(head.bytes, sent, isHead: isHead)
    state = .writing
    deadline = .now + core.responseDeadline
    return true
  }

  /// Reserves memory for an answer, if it is large. Without room, the result is a 503, or nil if the connection must be cut.
  private func withShare(_ response: HTTPResponse) -> HTTPResponse? {
    payers = response.payers.isEmpty ? [network] : response.payers
    if isHead || response.body.count <= HTTPLimits.smallAnswerBytes { return response }
    share = core.answers.take(response.body.count, for: payers)
    if share != nil { return response }
    if response.hasTakenEffect { return nil }
    var refusal = failure(503)
    refusal.report = response.report ?? refusal.report
    return refusal.body.count <= HTTPLimits.smallAnswerBytes ? refusal : nil
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
        share = core.answers.take(writing.heldBytes, for: payers)
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
