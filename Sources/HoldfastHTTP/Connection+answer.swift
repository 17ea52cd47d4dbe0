internal import CMicroHTTPD
import Glibc

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
    case .stream(let status, let headers): return queueStream(exchange, status, headers, request)
    case .endOfStream: return .NO
    case .make(let make):
      enter(.handling)
      return queue(make(), request)
    }
  }

  /// Hands an answer to libmicrohttpd, which sends it as the client takes it.
  ///
  /// - Parameter isLast: whether the connection ends with it, as it does when the server stops.
  func queue(_ response: HTTPResponse, _ request: RequestHandle, isLast: Bool = false) -> MHD_Result {
    let response = coded((200...599).contains(response.status) ? response : core.failure(500))
    guard let handle = makeHandle(response) else { return .NO }
    defer { MHD_destroy_response(handle) }
    if isLast { MHD_add_response_header(handle, "Connection", "close") }
    enter(.writing, for: core.responseDeadline)
    return MHD_queue_response(request.connection, UInt32(response.status), handle)
  }

  private func makeHandle(_ response: HTTPResponse) -> OpaquePointer? {
    guard let handle = (response.file.map { makeBody($0) } ?? makeBody(response.body)) else { return nil }
    add(response.headers, to: handle)
    if core.isStopping { MHD_add_response_header(handle, "Connection", "close") }
    return handle
  }

  private func add(_ headers: [(name: String, value: String)], to handle: OpaquePointer) {
    for (name, value) in headers {
      if !isFieldName(name) || !isFieldValue(value) || MHD_add_response_header(handle, name, value) == .NO {
        core.log("left out a header field of an answer: \(name.debugDescription)")
      }
    }
  }

  /// Begins an answer that libmicrohttpd asks for piece by piece, until the stream ends.
  private func queueStream(
    _ exchange: Exchange, _ status: Int, _ headers: [(name: String, value: String)], _ request: RequestHandle
  ) -> MHD_Result {
    let kept = Unmanaged.passRetained(exchange)
    guard
      let handle = MHD_create_response_from_callback(
        .max, HTTPStream.pieceSize, readStream, kept.toOpaque(), freeStream)
    else {
      kept.release()
      return .NO
    }
    defer { MHD_destroy_response(handle) }
    add(headers, to: handle)
    MHD_add_response_header(handle, "Connection", "close")
    enter(.streaming)
    return MHD_queue_response(request.connection, UInt32(status), handle)
  }

  /// libmicrohttpd reads the file by offset as the client takes it, and closes the descriptor.
  private func makeBody(_ slice: HTTPFile.Slice) -> OpaquePointer? {
    guard let descriptor = slice.file.duplicate() else { return nil }
    let handle = MHD_create_response_from_fd_at_offset64(
      UInt64(slice.count), descriptor, UInt64(slice.range.lowerBound))
    if handle == nil { close(descriptor) }
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

private func readStream(
  _ context: UnsafeMutableRawPointer?, _: UInt64, _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int
) -> Int {
  guard let context, let buffer else { return -1 }
  return Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue().readStreamed(
    into: UnsafeMutableRawBufferPointer(start: buffer, count: size))
}

private func freeStream(_ context: UnsafeMutableRawPointer?) {
  if let context { Unmanaged<Exchange>.fromOpaque(context).release() }
}
