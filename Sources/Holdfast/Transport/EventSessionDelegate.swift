#if !os(Linux) || HOLDFAST_STANDINS
  import Foundation
  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif

  /// Hands the bytes of streams on as they come. `bytes(for:)` would do it with less, but Foundation has it on Apple's platforms alone.
  ///
  /// @unchecked Sendable: `streams` is touched only under `lock`.
  final class EventSessionDelegate: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    typealias Stream = AsyncThrowingStream<[UInt8], any Error>

    /// How many pieces may wait for the reader; a stream that brings more without being read is broken off.
    static let pieceLimit = 1024

    private let lock = NSLock()
    private var streams: [Int: Stream.Continuation] = [:]

    /// Starts a task whose answer is a stream.
    func start(_ task: URLSessionDataTask) -> Stream {
      Stream(bufferingPolicy: .bufferingOldest(Self.pieceLimit)) { continuation in
        lock.withLock { streams[task.taskIdentifier] = continuation }
        continuation.onTermination = { _ in task.cancel() }
        task.resume()
      }
    }

    func urlSession(
      _: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
      completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
      let answer = response as? HTTPURLResponse
      let isStream = answer?.value(forHTTPHeaderField: "Content-Type")?.hasPrefix("text/event-stream") == true
      if answer?.statusCode == 200, isStream { return completionHandler(.allow) }
      let retryAfter = answer?.value(forHTTPHeaderField: "Retry-After").flatMap { Int($0) }
      remove(dataTask)?.finish(
        throwing: EventStreamRefusal(status: answer?.statusCode ?? 0, retryAfter: retryAfter))
      completionHandler(.cancel)
    }

    func urlSession(_: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      let stream = lock.withLock { streams[dataTask.taskIdentifier] }
      if case .dropped? = stream?.yield([UInt8](data)) {
        remove(dataTask)?.finish(throwing: URLError(.dataLengthExceedsMaximum))
      }
    }

    func urlSession(_: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
      remove(task)?.finish(throwing: error)
    }

    private func remove(_ task: URLSessionTask) -> Stream.Continuation? {
      lock.withLock { streams.removeValue(forKey: task.taskIdentifier) }
    }
  }
#endif
