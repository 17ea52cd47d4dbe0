import CCurl
import Foundation
import HoldfastCore

/// HTTP requests over libcurl, with connections that are reused.
///
/// One background thread drives all requests, from the first one to the end of the client, which cancels pending ones. Redirects are not
/// followed. The certificate authorities are the system's, or those in the file named by `SSL_CERT_FILE`. A client is safe to use from any
/// thread.
///
/// Source: <https://curl.se/libcurl/c/libcurl-multi.html>.
package final class HTTPClient: Sendable {
  private let limits: HTTPClientLimits
  private let loop: TransferLoop

  /// Creates a client that applies these limits to each request.
  package init(_ limits: HTTPClientLimits = HTTPClientLimits()) {
    self.limits = limits
    loop = TransferLoop()
  }

  deinit { loop.stop() }

  /// Sends a request, and waits for its complete answer.
  ///
  /// - Throws: `HTTPClientError`; `cancelled` if the task is cancelled.
  package func send(_ request: HTTPClientRequest) async throws(HTTPClientError) -> HTTPClientAnswer {
    let ticket = TransferTicket()
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        start(request, ticket) { continuation.resume(returning: $0) }
      }
    } onCancel: {
      loop.cancel(ticket)
    }
    return try result.get()
  }

  /// Sends a request, and blocks this thread until its complete answer.
  ///
  /// - Throws: `HTTPClientError`.
  package func sendAndWait(_ request: HTTPClientRequest) throws(HTTPClientError) -> HTTPClientAnswer {
    let arrival = Arrival()
    start(request, TransferTicket()) { arrival.come($0) }
    return try arrival.wait().get()
  }

  /// Sends a request, and blocks this thread until its complete answer. The content of an answer with the status 200 is passed on as it
  /// arrives; that of any other, of 1 MiB at most, is in the result.
  ///
  /// The two closures are called on the client's thread, which waits for them. Returning false ends the request.
  ///
  /// - Parameters:
  ///   - accept: receives the head of an answer with the status 200, before any content.
  ///   - receive: receives the content.
  /// - Throws: `HTTPClientError`.
  package func download(
    _ request: HTTPClientRequest, accept: @escaping @Sendable (HTTPClientHead) -> Bool = { _ in true },
    to receive: @escaping @Sendable ([UInt8]) -> Bool
  ) throws(HTTPClientError) -> HTTPClientAnswer {
    let arrival = Arrival()
    start(request, TransferTicket(), accept: accept, passing: receive) { arrival.come($0) }
    return try arrival.wait().get()
  }

  /// Sends a request, and passes the content on as it arrives.
  ///
  /// The stream has no back pressure: if `pieceLimit` pieces are unread, it fails. Ending the iteration cancels the request.
  ///
  /// - Parameter accept: checks the head before any content. An error that it returns ends the stream.
  package func stream(
    _ request: HTTPClientRequest, pieceLimit: Int = 1024,
    accept: @escaping @Sendable (HTTPClientHead) -> (any Error)?
  ) -> AsyncThrowingStream<[UInt8], any Error> {
    AsyncThrowingStream(bufferingPolicy: .bufferingOldest(pieceLimit)) { continuation in
      let ticket = TransferTicket()
      continuation.onTermination = { [loop] _ in loop.cancel(ticket) }
      let receiver = Transfer.Receiver(
        head: { head in
          guard let refusal = accept(head) else { return true }
          continuation.finish(throwing: refusal)
          return false
        },
        content: { bytes in
          guard case .dropped = continuation.yield([UInt8](bytes)) else { return true }
          continuation.finish(
            throwing: HTTPClientError(code: .tooLarge, description: "The stream was not read in time."))
          return false
        },
        end: { _, error in continuation.finish(throwing: error) })
      start(request, ticket, receiver)
    }
  }

  private func start(
    _ request: HTTPClientRequest, _ ticket: TransferTicket,
    accept: @escaping @Sendable (HTTPClientHead) -> Bool = { _ in true },
    passing receive: (@Sendable ([UInt8]) -> Bool)? = nil,
    _ done: @escaping @Sendable (Result<HTTPClientAnswer, HTTPClientError>) -> Void
  ) {
    let content = Content()
    let receiver = Transfer.Receiver(
      head: { head in
        content.isPassed = head.status == 200
        if receive == nil || !content.isPassed { content.reserve(head) }
        return !content.isPassed || accept(head)
      },
      content: { bytes in
        guard let receive else { return content.add(bytes) }
        return content.isPassed
          ? receive([UInt8](bytes)) : content.bytes.count < 1 << 20 && content.add(bytes)
      },
      end: { head, error in
        done(error.map { .failure($0) } ?? .success(HTTPClientAnswer(head: head, body: content.bytes)))
      })
    start(request, ticket, receiver)
  }

  private func start(_ request: HTTPClientRequest, _ ticket: TransferTicket, _ receiver: Transfer.Receiver) {
    do {
      loop.add(try Transfer(request, limits, receiver), ticket)
    } catch {
      receiver.end(HTTPClientHead(), error)
    }
  }
}

/// The content received so far.
///
/// @unchecked Sendable: accessed only by the client's thread.
private final class Content: @unchecked Sendable {
  private(set) var bytes: [UInt8] = []
  /// Whether what arrives is passed on, if somebody receives it.
  var isPassed = false

  /// Makes room for as much as the head says, within reason: it may not be true.
  func reserve(_ head: HTTPClientHead) {
    let length = head.headers["content-length"].flatMap { Int($0) } ?? 0
    bytes.reserveCapacity(min(max(0, length), 16 << 20))
  }

  func add(_ more: UnsafeRawBufferPointer) -> Bool {
    bytes.append(contentsOf: more)
    return true
  }
}

/// Passes a result from one thread to another.
///
/// @unchecked Sendable: `result` is written once before the semaphore is signalled, and read after.
private final class Arrival: @unchecked Sendable {
  private let semaphore = DispatchSemaphore(value: 0)
  private var result = Result<HTTPClientAnswer, HTTPClientError>.failure(
    HTTPClientError(code: .failed, description: "No answer came."))

  func come(_ result: Result<HTTPClientAnswer, HTTPClientError>) {
    self.result = result
    semaphore.signal()
  }

  func wait() -> Result<HTTPClientAnswer, HTTPClientError> {
    semaphore.wait()
    return result
  }
}
