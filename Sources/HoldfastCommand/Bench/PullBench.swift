import Foundation
import Glibc
import Holdfast

/// Devices that listen, and pull what they are told of: each a stream and a connection for its requests, all in one thread with one `poll`.
struct PullBench {
  private let streams: EventListeners
  private let writer: LoadConnection
  private var devices: [PullingDevice]

  /// - Parameters:
  ///   - streams: open, one for each token in their order, and no others.
  ///   - tokens: those of the devices, which are up to date when this returns.
  init(_ streams: EventListeners, _ tokens: some Sequence<String>, port: UInt16) throws {
    self.streams = streams
    writer = try LoadConnection(number: 0, address: "127.0.0.1", port: port)
    devices = try tokens.map { try PullingDevice(token: $0, port: port) }
    for index in devices.indices { try devices[index].catchUp() }
    streams.drain()
  }

  /// Writes one record after the other, each when all devices have pulled the one before.
  ///
  /// - Returns: the seconds from a write's request until each of them had it.
  mutating func measure(_ bench: inout ServerBench, writes: Int) throws -> [Double] {
    var times: [Double] = []
    for _ in 0..<writes {
      let start = Self.seconds
      guard writer.send(bench.create(0), at: 0) else { throw Self.closed }
      try pull(&bench) { times.append(Self.seconds - start) }
    }
    return times
  }

  /// Waits until the write is answered, and each device has heard of it and pulled it.
  private mutating func pull(_ bench: inout ServerBench, _ each: () -> Void) throws {
    let count = devices.count
    var polled = streams.descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    polled += devices.map { pollfd(fd: $0.connection.descriptor, events: Int16(POLLIN), revents: 0) }
    polled.append(pollfd(fd: writer.descriptor, events: Int16(POLLIN), revents: 0))
    var missing = count + 1
    while missing > 0 {
      guard poll(&polled, nfds_t(polled.count), 30_000) > 0 else {
        throw BenchError(text: "\(missing) devices pulled nothing in 30 seconds")
      }
      for index in polled.indices where polled[index].revents != 0 {
        switch index {
        case ..<count:
          // All of it: a device that is told twice pulls once more.
          if try streams.hears(index) { try devices[index].pull() }
        case ..<(2 * count):
          if try devices[index - count].receive() {
            each()
            missing -= 1
          }
        default:
          guard case .whole(200, let body) = writer.receive() else { continue }
          bench.receive(0, body)
          missing -= 1
        }
      }
    }
  }

  private static var seconds: Double { Double(DispatchTime.now().uptimeNanoseconds) / 1e9 }

  fileprivate static let closed = BenchError(text: "the server closed a connection")
}

/// A device with its acks.
private struct PullingDevice {
  let connection: LoadConnection
  private let token: String
  private var acks: TextMap<String> = [:]
  private var unsent: TextSet = []
  private var isComplete = false

  init(token: String, port: UInt16) throws {
    self.token = token
    connection = try LoadConnection(number: 0, address: "127.0.0.1", port: port)
  }

  /// Asks what is new, unless an answer is on its way.
  mutating func pull() throws {
    if connection.isWaiting { return }
    var request = SyncRequest()
    var digest = AckDigest()
    for (zone, token) in acks { digest.add(zone: zone, token: token) }
    request.acks = acks.filter { isComplete || unsent.contains($0.key) }.map {
      .init(zone: $0.key, token: $0.value)
    }
    (request.digest, request.isComplete) = (digest.text, isComplete)
    (unsent, isComplete) = ([], false)
    let body = request.body(sealed: [])
    let head = """
      POST /v1/sync HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
      Authorization: Bearer \(token)\r\nContent-Length: \(body.count)\r\n\r\n
      """
    guard connection.send(Array(head.utf8) + body, at: 0) else { throw PullBench.closed }
  }

  /// Takes what has come; whether it is an answer with changes.
  mutating func receive() throws -> Bool {
    switch connection.receive() {
    case .partly: return false
    case .failed: throw PullBench.closed
    case .whole(let status, let body):
      guard status == 200 else { throw BenchError(text: "a device pulled, and was answered \(status)") }
      let answer = try SyncAnswer(body: Array(body))
      isComplete = answer.mustResend
      for part in answer.parts {
        acks[part.zone] = part.to
        unsent.insert(part.zone)
      }
      return !answer.parts.isEmpty
    }
  }

  /// Pulls until there is nothing new, and nothing to say.
  mutating func catchUp() throws {
    repeat {
      try pull()
      while connection.isWaiting {
        var ready = pollfd(fd: connection.descriptor, events: Int16(POLLIN), revents: 0)
        poll(&ready, 1, 30_000)
        _ = try receive()
      }
    } while isComplete || !unsent.isEmpty
  }
}
