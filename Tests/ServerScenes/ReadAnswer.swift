package import HoldfastCore
package import HoldfastHTTP
import HoldfastServer
import Testing

/// What a read was answered with.
package struct ReadAnswer {
  package let response: HTTPResponse

  package init(response: HTTPResponse) { self.response = response }

  package var status: Int { response.status }
  package var body: JSONValue { (try? JSONValue(parsing: response.body)) ?? .null }
  package var code: String { body["code"]?.stringValue ?? "" }
  package var records: [JSONValue] { body["records"]?.elements ?? [] }
  package var ids: [String] { records.compactMap { $0["id"]?.stringValue } }
  package var next: String? { body["next"]?.stringValue }

  package func header(_ name: String) -> String? { response.headers.first { $0.name == name }?.value }

  package var tag: String { header("ETag") ?? "" }
  package var modified: String { header("Last-Modified") ?? "" }
}

extension TestDevice {
  /// Reads an address with the device's token.
  package func get(_ target: String, _ headers: [(String, String)] = []) throws -> ReadAnswer {
    var request = TestServer.request("GET", target, [], token: token)
    for (name, value) in headers { request.headers.append(name: name, value: value) }
    return ReadAnswer(response: try server.respond(to: request))
  }

  /// All ids of a result, page by page.
  package func allIDs(_ target: String, between: () throws -> Void = {}) throws -> [String] {
    var answer = try get(target)
    var ids = answer.ids
    while let next = answer.next {
      try between()
      answer = try get(next)
      try #require(answer.status == 200)
      ids += answer.ids
    }
    return ids
  }
}

/// A program that follows a collection by deltas: what it has is what it was told.
package struct DeltaFollower {
  package let device: TestDevice
  package let target: String
  /// By id: the columns and the zone of each record.
  package var records = TextMap<JSONValue>()
  package var tag = ""
  package var deltas = 0
  package var wholes = 0

  package init(device: TestDevice, target: String) { (self.device, self.target) = (device, target) }

  /// Asks until there is nothing new.
  package mutating func follow() throws {
    for _ in 0..<200 where try !step() { return }
    Issue.record("The follower never comes to rest.")
  }

  /// Asks once.
  ///
  /// - Returns: whether there was something new.
  @discardableResult
  package mutating func step() throws -> Bool {
    let answer = try device.get(target, [("A-IM", "feed"), ("If-None-Match", tag)])
    if answer.status == 304 { return false }
    if answer.status == 226 {
      deltas += 1
      #expect(answer.header("IM") == "feed")
      #expect(answer.header("Cache-Control") == "no-store")
    } else {
      try #require(answer.status == 200)
      wholes += 1
      records = [:]
    }
    tag = answer.tag
    take(answer.records)
    var next = answer.next
    while let address = next {
      let page = try device.get(address)
      take(page.records)
      next = page.next
    }
    return true
  }

  private mutating func take(_ changes: [JSONValue]) {
    for change in changes {
      guard let id = change["id"]?.stringValue else { continue }
      if change["deleted"]?.boolValue == true {
        records.removeValue(forKey: id)
      } else {
        records[id] = change
      }
    }
  }

  /// The records that a whole read gives otherwise, or that it does not give.
  package func differences() throws -> [String] {
    var whole = DeltaFollower(device: device, target: target)
    try whole.follow()
    let ids = TextSet(records.keys).union(whole.records.keys)
    return ids.filter { records[$0] != whole.records[$0] }.sorted().map { id in
      "\(id): \(text(records[id])) is \(text(whole.records[id]))"
    }
  }

  private func text(_ record: JSONValue?) -> String {
    record.map { String(decoding: $0.bytes, as: UTF8.self) } ?? "none"
  }
}
