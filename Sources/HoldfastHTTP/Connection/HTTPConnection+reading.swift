import HoldfastConcurrency

extension HTTPConnection {
  /// Continues to read a head. Returns whether the connection continues immediately.
  func readHead() -> Bool {
    if let goesOn = parseHead() { return goesOn }
    guard let bytes = receive() else { return false }
    input.append(contentsOf: bytes)
    return true
  }

  /// Parses a head from the input; nil if it is incomplete.
  private func parseHead() -> Bool? {
    if input.isEmpty { return nil }
    let hadBegun = reader.hasBegun
    let limit = core.limits.maximumHeaderBytes
    do throws(Refusal) {
      let found = try input.withUnsafeBufferPointer { bytes throws(Refusal) in
        try reader.read(UnsafeRawBufferPointer(bytes), limit: limit)
      }
      guard let (head, length) = found else {
        if reader.hasBegun, !hadBegun { deadline = .now + core.requestDeadline }
        return nil
      }
      if input.count == length { input = [] } else { input.removeFirst(length) }
      reader = HeadReader()
      if !hadBegun { deadline = .now + core.requestDeadline }
      return begin(head)
    } catch { return refuse(error) }
  }

  /// Handles a complete head: asks the owner whether to read the body.
  private func begin(_ head: RequestHead) -> Bool {
    self.head = head
    requestID = nextRequestID()
    began = .now
    bodyLimit = core.limits.maximumBodyBytes
    if case .none = head.framing { return handle() }
    // The owner decides on the request before its length is checked.
    guard let admission = core.admission else { return admit(bodyLimit, nil) }
    state = .admission
    let exchange = Exchange(self)
    self.exchange = exchange
    ask(admission, request(head, body: []), exchange)
    return takeAnswer()
  }

  /// A function of its own, so that an unused admission is released, and has answered, when it returns.
  @inline(never)
  private func ask(
    _ admission: @Sendable (HTTPRequest, HTTPAdmission) -> Void, _ request: HTTPRequest, _ exchange: Exchange
  ) {
    loop.handling { admission(request, HTTPAdmission(exchange)) }
  }

  /// Reads the body, which the owner has admitted.
  func admit(_ limit: Int, _ payer: String?) -> Bool {
    guard let head else { return close() }
    exchange = nil
    self.payer = payer
    bodyDeadline = .now + core.requestDeadline
    deadline = bodyDeadline
    bodyLimit = min(limit, core.limits.maximumBodyBytes)
    switch head.framing {
    case .none: return handle()
    case .chunked: chunks = ChunkReader()
    case .length(let length):
      if length > bodyLimit { return refuse(.tooLarge) }
      // The announced length is not trusted beyond a small size: memory grows with the received bytes.
      body.reserveCapacity(min(length, HTTPLimits.smallBodyBytes))
    }
    state = .body
    if head.expectsContinue, input.isEmpty, !sayContinue() { return close() }
    return true
  }

  /// Sends a few bytes, which the buffer of an idle socket accepts immediately.
  private func sayContinue() -> Bool {
    Array("HTTP/1.1 100 Continue\r\n\r\n".utf8).withUnsafeBytes {
      if case .bytes($0.count) = transport.write($0) { true } else { false }
    }
  }

  /// Continues to read a body. Returns whether the connection continues immediately.
  func readBody() -> Bool {
    if !input.isEmpty {
      let bytes = input
      input = []
      return bytes.withUnsafeBytes { takeBody($0) }
    }
    guard let bytes = receive() else { return false }
    return takeBody(bytes)
  }

  private func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
    do throws(Refusal) {
      let (taken, isAtEnd) = try takeContent(bytes)
      if taken < bytes.count { input = Array(bytes[taken...]) }
      return isAtEnd ? finishBody() : true
    } catch { return refuse(error) }
  }

  private func takeContent(_ bytes: UnsafeRawBufferPointer) throws(Refusal) -> (taken: Int, isAtEnd: Bool) {
    if case .length(let length) = head?.framing {
      let count = min(length - body.count, bytes.count)
      try append(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
      return (count, body.count == length)
    }
    guard var chunks else { throw .malformed }
    defer { self.chunks = chunks }
    return try chunks.read(bytes, limit: bodyLimit, trailerLimit: core.limits.maximumHeaderBytes) {
      (piece: UnsafeRawBufferPointer) throws(Refusal) in try append(piece)
    }
  }

  private func append(_ bytes: UnsafeRawBufferPointer) throws(Refusal) {
    if bytes.count > bodyLimit - body.count { throw .tooLarge }
    guard takeRoom(for: body.count + bytes.count) else { throw Refusal(status: 503) }
    body.append(contentsOf: bytes)
    let time = body.count * 1000 / max(core.limits.minimumBodyRate, 1)
    deadline = MonotonicTime(milliseconds: bodyDeadline.milliseconds + UInt64(time))
  }

  /// Handles a complete body, which may be encoded.
  private func finishBody() -> Bool {
    do throws(Refusal) {
      if let decoding = try startDecoding() {
        state = .decoding
        deadline = nil
        let exchange = Exchange(self)
        self.exchange = exchange
        let decode: Coder.Work = { exchange.answer(decoding()) }
        guard core.coder.enqueue(decode, of: payer ?? network) else { throw Refusal(status: 503) }
        return takeAnswer()
      }
      return handle()
    } catch { return answer(failure(error.status)) }
  }

  /// The request as the owner sees it.
  func request(_ head: RequestHead, body: [UInt8]) -> HTTPRequest {
    HTTPRequest(
      id: requestID, method: head.method, target: head.target, headers: head.headers, body: body,
      remoteAddress: remoteAddress, isSecure: transport.isSecure)
  }

  // MARK: Unread bytes

  /// Answers a request without reading more of it, and ends the connection.
  @discardableResult
  func refuse(_ refusal: Refusal) -> Bool {
    refuse(failure(refusal.status))
  }

  /// Answers a request without reading more of it, and ends the connection.
  func refuse(_ response: HTTPResponse) -> Bool {
    (isLast, isRefused) = (true, true)
    input = []
    return answer(response)
  }

  /// Reads and discards further bytes for a while. Closing a socket with unread bytes would reset the connection, and the client could lose
  /// the answer.
  func discard() -> Bool {
    guard let bytes = receive() else { return false }
    discarded += bytes.count
    return discarded > core.limits.lingeringBytes ? close() : true
  }
}
