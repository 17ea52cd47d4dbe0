internal import CMicroHTTPD
import Glibc

/// What libmicrohttpd passes for one request; valid during one call.
struct RequestHandle {
  let connection: OpaquePointer
  let method: UnsafePointer<CChar>
  let version: UnsafePointer<CChar>

  init(_ connection: OpaquePointer, _ method: UnsafePointer<CChar>, _ version: UnsafePointer<CChar>) {
    self.connection = connection
    self.method = method
    self.version = version
  }
}

extension Connection {
  /// A part of the request's content, or nil for the header, the end of the request, and the end of waiting.
  func receive(_ data: UnsafeRawBufferPointer?, _ request: RequestHandle) -> MHD_Result {
    switch (stage, data) {
    case (.header, nil):
      return receiveHeader(request)
    case (.body, let data?):
      if data.count > core.limits.maximumBodyBytes - body.count { return refuseContent(413, request) }
      let more = max(body.count + data.count - HTTPLimits.smallBodyBytes, 0) - room
      guard core.takeRoom(more) else { return refuseContent(503, request) }
      room += more
      body.append(contentsOf: data)
      return .YES
    case (.body, nil):
      return handle(request)
    case (.answer, nil):
      return sendAnswer(request)
    case (.refused, let data?):
      discarded += data.count
      return discarded > core.limits.lingeringBytes ? .NO : .YES
    case (.refused, nil) where refusal != 0:
      return queue(core.failure(refusal), request, isLast: true)
    case (.refused, nil), (.header, _), (.answer, _):
      return .NO
    }
  }

  private func receiveHeader(_ request: RequestHandle) -> MHD_Result {
    stage = .body
    MHD_get_connection_values_n(
      request.connection, .HEADER_KIND, collectHeader, Unmanaged.passUnretained(self).toOpaque())
    let framing = MessageFraming(headers, isVersion10: strcmp(request.version, "HTTP/1.0") == 0)
    let limits = core.limits
    if holdfast_http_header_size(request.connection) > limits.maximumHeaderBytes {
      return refuse(431, request, framing)
    }
    switch framing {
    case .none, .chunked: return .YES
    case .length(let length) where length > UInt64(limits.maximumBodyBytes):
      return refuse(413, request, framing)
    case .length(let length):
      // What is announced is believed up to a point: memory follows what has come.
      body.reserveCapacity(min(Int(length), 64 << 10))
      return .YES
    case .invalid(let status): return refuse(status, request, framing)
    }
  }

  /// Answers a request at its header, and ends the connection.
  private func refuse(_ status: Int, _ request: RequestHandle, _ framing: MessageFraming) -> MHD_Result {
    let clientWaits = headers["Expect"]?.lowercased() == "100-continue"
    if case .none = framing { return queue(core.failure(status), request) }
    return clientWaits ? queue(core.failure(status), request) : refuseContent(status, request)
  }

  /// Answers a request whose content is coming, and reads and throws away the content for a while: to close a socket
  /// with unread bytes in it resets the connection, and the client would lose the answer.
  private func refuseContent(_ status: Int, _ request: RequestHandle) -> MHD_Result {
    stage = .refused
    body = []
    giveRoom()
    guard enter(.refusing, for: core.lingering) else { return .NO }
    if core.isSecure {
      // Nothing can be sent past libmicrohttpd: it is said when all content has come, if that is not too much.
      refusal = status
      return .YES
    }
    sendWithoutWaiting(
      rawBytes(of: core.failure(status), method: String(cString: request.method)), to: descriptor)
    shutdown(descriptor, Int32(SHUT_WR))
    return .YES
  }
}

private func collectHeader(
  _ context: UnsafeMutableRawPointer?, _: MHD_ValueKind, _ name: UnsafePointer<CChar>?, _ nameSize: Int,
  _ value: UnsafePointer<CChar>?, _ valueSize: Int
) -> MHD_Result {
  guard let context, let name else { return .NO }
  let connection = Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue()
  connection.headers.append(
    name: UnsafeRawBufferPointer(start: name, count: nameSize).assumingMemoryBound(to: UInt8.self),
    value: UnsafeRawBufferPointer(start: value, count: value == nil ? 0 : valueSize)
      .assumingMemoryBound(to: UInt8.self))
  return .YES
}
