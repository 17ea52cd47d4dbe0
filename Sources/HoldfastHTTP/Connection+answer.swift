internal import CMicroHTTPD

extension Connection {
  /// The whole request is here: calls the handler, and sends the answer if there is one when it returns.
  func handle(_ request: RequestHandle) -> MHD_Result {
    guard enter(.handling) else { return .NO }
    stage = .answer
    readCodings()
    if let status = decodeBody() { return queue(core.failure(status), request) }
    let exchange = Exchange(self, handle: request.connection)
    expect(exchange)
    runHandler(method: String(cString: request.method), exchange)
    return sendAnswer(exchange, request)
  }

  /// The connection was resumed because there is an answer.
  func sendAnswer(_ request: RequestHandle) -> MHD_Result {
    guard let exchange = expected else { return .NO }
    return sendAnswer(exchange, request)
  }

  /// In a function of its own, so that a responder that the handler did not keep is gone, and has answered 500,
  /// when it returns.
  @inline(never)
  private func runHandler(method: String, _ exchange: Exchange) {
    let request = HTTPRequest(
      id: nextRequestID(), method: method, target: target, headers: headers, body: body,
      remoteAddress: remoteAddress)
    headers = HTTPHeaders()
    body = []
    core.handler(request, HTTPResponder(exchange))
  }

  private func sendAnswer(_ exchange: Exchange, _ request: RequestHandle) -> MHD_Result {
    switch exchange.takeOrWait(willWait: { enter($0) }) {
    case nil: return .YES
    case .response(let response): return queue(response, request)
    case .failure(let status): return queue(core.failure(status), request)
    case .endOfStream: return .NO
    case .make(let make):
      enter(.handling)
      return queue(make(), request)
    }
  }

  /// Hands an answer to libmicrohttpd, which sends it as the client takes it.
  func queue(_ response: HTTPResponse, _ request: RequestHandle) -> MHD_Result {
    let response = coded((200...599).contains(response.status) ? response : core.failure(500))
    guard let handle = makeHandle(response) else { return .NO }
    defer { MHD_destroy_response(handle) }
    enter(.writing, for: core.responseDeadline)
    return MHD_queue_response(request.connection, UInt32(response.status), handle)
  }

  private func makeHandle(_ response: HTTPResponse) -> OpaquePointer? {
    guard let handle = makeBody(response.body) else { return nil }
    for (name, value) in response.headers {
      if !isFieldName(name) || !isFieldValue(value) || MHD_add_response_header(handle, name, value) == .NO {
        core.log("left out a header field of an answer: \(name.debugDescription)")
      }
    }
    if core.isStopping { MHD_add_response_header(handle, "Connection", "close") }
    return handle
  }

  /// A small body is copied: that costs less than the object that would keep it. A large one is kept until it is sent.
  private func makeBody(_ body: [UInt8]) -> OpaquePointer? {
    if body.count <= 16 << 10 {
      return body.withUnsafeBytes {
        MHD_create_response_from_buffer(
          $0.count, UnsafeMutableRawPointer(mutating: $0.baseAddress), .RESPMEM_MUST_COPY)
      }
    }
    // An array's bytes stay where they are while the array lives and nobody changes it: `KeptBody` keeps it
    // unchanged until libmicrohttpd has freed the response.
    let kept = Unmanaged.passRetained(KeptBody(body))
    let handle = body.withUnsafeBytes {
      MHD_create_response_from_buffer_with_free_callback_cls(
        $0.count, UnsafeMutableRawPointer(mutating: $0.baseAddress), freeBody, kept.toOpaque())
    }
    if handle == nil { kept.release() }
    return handle
  }
}

private final class KeptBody: Sendable {
  let bytes: [UInt8]

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }
}

private func freeBody(_ context: UnsafeMutableRawPointer?) {
  if let context { Unmanaged<KeptBody>.fromOpaque(context).release() }
}
