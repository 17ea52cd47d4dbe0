import Foundation
import Glibc
import Holdfast
import HoldfastCore

/// How long the same question takes as there is more: records, zones, devices and connections.
struct GrowthBench {
  private static let repeats = 200

  let port: UInt16
  /// Who asks.
  let token: String
  let user: String
  /// Who writes in between.
  let other: String
  /// A user with nothing, whose devices are many at once.
  let crowd: (token: String, user: String)
  /// Where the plots go; nil for none.
  let plots: URL?

  func measure() throws -> [Measurement.Result] {
    let asked = try Conversation(port)
    return try [connections(asked), records(asked), zones(asked), devices(asked)].flatMap { $0 }
  }

  /// What the server takes for one up-to-date sync when more and more devices ask at once.
  private func connections(_ asked: Conversation) throws -> [Measurement.Result] {
    let sizes = [1, 4, 16, 64, 256]
    var tokens: [String] = []
    for _ in 0..<(sizes.last ?? 0) {
      let body = Array(#"{"name":"one of many"}"#.utf8)
      let made = try asked.ask(request("POST", "/v1/devices", body, of: crowd.token))
      tokens.append(try JSONValue(parsing: made.body)["token"]?.stringValue ?? "")
    }
    let zones = Array(repeating: crowd.user, count: tokens.count)
    let bench = ServerBench(port: port, tokens: tokens, zones: zones)
    // Each is up to date from here on.
    _ = try bench.upToDate(connections: tokens.count, requests: tokens.count * 8)
    var line = Plot.Line(name: "all at once")
    for size in sizes {
      let rates = try (0..<3).map { _ in try bench.upToDate(connections: size, requests: 20_000) }
      line.points.append((size, 1e6 / Measurement.median(rates)))
    }
    return try results("the server's time for an up-to-date sync", "connections", [line])
  }

  /// The last 100 changes of a zone with more and more records.
  private func records(_ asked: Conversation) throws -> [Measurement.Result] {
    var line = Plot.Line(name: "the last 100 changes")
    let create = #"{"op":"create","table":"notes","columns":{"text":"\#(BulkBench.text)"}}"#
    var count = 0
    for size in [10_000, 100_000, 1_000_000] {
      while count < size - 100 {
        let some = min(1000, size - 100 - count)
        _ = try asked.ask(batch(Array(repeating: create, count: some)))
        count += some
      }
      let since = try state(asked).first { $0.zone == user }?.token ?? ""
      _ = try asked.ask(batch(Array(repeating: create, count: 100)))
      count += 100
      let changes = request("GET", "/v1/zones/\(user)/changes?since=\(since)", [])
      line.points.append((size, try time(changes, asked, writing: true)))
    }
    return try results("100 changes of a zone", "records", [line])
  }

  /// A sync of a device that has more and more zones, and everything of them.
  private func zones(_ asked: Conversation) throws -> [Measurement.Result] {
    var lines = [Plot.Line(name: "nobody writes"), Plot.Line(name: "others write before each")]
    var count = 1
    for size in [10, 100, 1000, 10_000] {
      while count < size {
        let some = min(1000, size - count)
        let create = #"{"op":"create","table":"lists","columns":{"title":"a list"}}"#
        _ = try asked.ask(batch(Array(repeating: create, count: some)))
        count += some
      }
      let quiet = try upToDate(asked)
      lines[0].points.append((size, try time(quiet, asked, writing: false)))
      lines[1].points.append((size, try time(quiet, asked, writing: true)))
    }
    return try results("an up-to-date sync", "zones of the device", lines)
  }

  /// A sync of a device whose user has more and more others.
  private func devices(_ asked: Conversation) throws -> [Measurement.Result] {
    var line = Plot.Line(name: "others write before each")
    let quiet = try upToDate(asked)
    var count = 1
    for size in [1, 10, 100, 1000] {
      while count < size {
        _ = try asked.ask(request("POST", "/v1/devices", Array(#"{"name":"another"}"#.utf8)))
        count += 1
      }
      line.points.append((size, try time(quiet, asked, writing: true)))
    }
    return try results("an up-to-date sync of 10,000 zones", "devices of the user", [line])
  }

  private func results(_ name: String, _ axis: String, _ lines: [Plot.Line]) throws -> [Measurement.Result] {
    if let plots {
      let plot = Plot(title: name, axis: axis, lines: lines)
      try FileManager.default.createDirectory(at: plots, withIntermediateDirectories: true)
      let file = "growth-\(axis.split(separator: " ")[0]).svg"
      try Data(plot.svg.utf8).write(to: plots.appendingPathComponent(file))
    }
    return lines.flatMap { line -> [Measurement.Result] in
      guard let least = line.points.first else { return [] }
      return line.points.dropFirst().map { point in
        .init(
          name: "\(lines.count == 1 ? "" : "\(line.name): ")\(point.size) \(axis)", rate: point.microseconds,
          limitName: "with \(least.size)",
          limit: least.microseconds, floor: nil, unit: " us")
      }
    }
  }

  /// Makes the device say all that it has, so that it is up to date.
  ///
  /// - Returns: what it asks then.
  private func upToDate(_ asked: Conversation) throws -> [UInt8] {
    var said = SyncRequest()
    var digest = AckDigest()
    for (zone, token) in try state(asked) {
      said.acks.append(.init(zone: zone, token: token))
      digest.add(zone: zone, token: token)
    }
    said.isComplete = true
    said.digest = digest.text
    _ = try asked.ask(sync(said))
    var quiet = SyncRequest()
    quiet.digest = digest.text
    let answer = try SyncAnswer(body: try asked.ask(sync(quiet)).body)
    guard answer.parts.isEmpty, !answer.mustResend else {
      throw BenchError(text: "the device is not up to date")
    }
    return sync(quiet)
  }

  /// The zones with the token of what is there now.
  private func state(_ asked: Conversation) throws -> [(zone: String, token: String)] {
    let answer = try JSONValue(parsing: try asked.ask(request("GET", "/v1/zones", [])).body)
    return (answer["zones"]?.elements ?? []).map {
      ($0["zone"]?.stringValue ?? "", $0["token"]?.stringValue ?? "")
    }
  }

  /// The microseconds of a question at the median.
  private func time(_ question: [UInt8], _ asked: Conversation, writing: Bool) throws -> Double {
    let writer = try Conversation(port)
    let create = #"{"op":"create","table":"notes","columns":{"text":"a note"}}"#
    let write = batch([create], of: other)
    return Measurement.median(
      try (0..<Self.repeats).map { _ in
        if writing { _ = try writer.ask(write) }
        return try asked.ask(question).microseconds
      })
  }

  private func sync(_ request: SyncRequest) -> [UInt8] {
    self.request("POST", "/v1/sync", request.body(sealed: []))
  }

  private func batch(_ operations: [String], of token: String? = nil) -> [UInt8] {
    request(
      "POST", "/v1/batch", Array("{\"operations\":[\(operations.joined(separator: ","))]}".utf8), of: token)
  }

  private func request(_ method: String, _ path: String, _ body: [UInt8], of token: String? = nil) -> [UInt8]
  {
    let content = body.isEmpty ? "" : "Content-Type: application/json\r\nContent-Length: \(body.count)\r\n"
    return Array(
      "\(method) \(path) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token ?? self.token)\r\n\(content)\r\n"
        .utf8)
      + body
  }
}

/// One connection that asks, and waits for the answer.
private struct Conversation {
  private let connection: LoadConnection

  init(_ port: UInt16) throws { connection = try LoadConnection(number: 0, address: "127.0.0.1", port: port) }

  func ask(_ request: [UInt8]) throws -> (body: [UInt8], microseconds: Double) {
    let start = DispatchTime.now().uptimeNanoseconds
    guard connection.send(request, at: start) else {
      throw BenchError(text: "the server closed a connection")
    }
    var ready = pollfd(fd: connection.descriptor, events: Int16(POLLIN), revents: 0)
    while true {
      poll(&ready, 1, 60_000)
      switch connection.receive() {
      case .partly: continue
      case .whole(let status, let body):
        let end = DispatchTime.now().uptimeNanoseconds
        guard (200..<300).contains(status) else {
          throw BenchError(
            text: "the server answered \(status): \(String(decoding: body.prefix(300), as: UTF8.self))")
        }
        return (Array(body), Double(end - start) / 1000)
      case .failed: throw BenchError(text: "the server gave no answer")
      }
    }
  }
}
