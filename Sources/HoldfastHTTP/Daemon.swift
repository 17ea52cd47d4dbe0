internal import CMicroHTTPD

/// A running libmicrohttpd.
///
/// @unchecked Sendable: the pointer is constant, and the functions that take it may be called from any thread.
struct Daemon: @unchecked Sendable {
  let handle: OpaquePointer

  init?(_ core: ServerCore, threads: Int) {
    // The table limits the connections. libmicrohttpd divides its own limit among the threads, which would refuse
    // too early, so it gets one that is never reached.
    let connections = UInt32(clamping: (core.limits.maximumConnections + 64) * threads)
    guard
      let handle = holdfast_http_start(
        UInt32(threads), connections, core.limits.connectionMemory, core.isSecure ? 1 : 0,
        receiveRequest, beginRequest, endRequest,
        notifyConnection, Unmanaged.passUnretained(core).toOpaque())
    else { return nil }
    self.handle = handle
  }

  /// Closes all connections and ends the threads; none may be suspended.
  func stop() {
    MHD_stop_daemon(handle)
  }
}

/// libmicrohttpd opens or closes a connection.
private func notifyConnection(
  _ core: UnsafeMutableRawPointer?, _ handle: OpaquePointer?,
  _ context: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ code: MHD_ConnectionNotificationCode
) {
  guard let core, let handle, let context else { return }
  let connections = Unmanaged<ServerCore>.fromOpaque(core).takeUnretainedValue().connections
  if code == .CONNECTION_NOTIFY_STARTED {
    let connection = connections.connection(of: holdfast_http_descriptor(handle))
    if let certificate = connection?.certificate { holdfast_http_present(handle, certificate.handle) }
    context.pointee = connection.map { Unmanaged.passRetained($0).toOpaque() }
  } else if let pointer = context.pointee {
    context.pointee = nil
    let connection = Unmanaged<Connection>.fromOpaque(pointer).takeRetainedValue()
    connections.remove(connection.descriptor)
  }
}

/// The request line is here. Returns the context of the request: its connection, which outlives it.
private func beginRequest(
  _: UnsafeMutableRawPointer?, _ target: UnsafePointer<CChar>, _ handle: OpaquePointer
) -> UnsafeMutableRawPointer? {
  guard let context = holdfast_http_context(handle) else { return nil }
  let connection = Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue()
  connection.target = String(cString: target)
  holdfast_http_forget_query(target)
  connection.enter(.reading, for: connection.core.requestDeadline)
  return context
}

/// A part of the request is here, or all of it, or the answer to it.
private func receiveRequest(
  _: UnsafeMutableRawPointer?, _ handle: OpaquePointer?, _: UnsafePointer<CChar>?,
  _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ data: UnsafePointer<CChar>?,
  _ size: UnsafeMutablePointer<Int>?, _ context: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
  guard let handle, let method, let version, let size, let pointer = context?.pointee else { return .NO }
  let connection = Unmanaged<Connection>.fromOpaque(pointer).takeUnretainedValue()
  guard let data else { return connection.receive(nil, RequestHandle(handle, method, version)) }
  defer { size.pointee = 0 }
  return connection.receive(
    UnsafeRawBufferPointer(start: data, count: size.pointee), RequestHandle(handle, method, version))
}

/// The answer is out, or the connection is gone.
private func endRequest(
  _: UnsafeMutableRawPointer?, _: OpaquePointer?, _ context: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
  _: MHD_RequestTerminationCode
) {
  guard let pointer = context?.pointee else { return }
  Unmanaged<Connection>.fromOpaque(pointer).takeUnretainedValue().reset()
}
