import Dispatch
import Foundation
import Holdfast
import HoldfastCore
import HoldfastServer
import Synchronization
import Testing

/// The same requests with ids over many connections at once.
struct RequestStorm: Sendable {
  let ports: [Int]
  let token: String
  let list: String

  init(_ ports: [Int]) throws {
    self.ports = ports
    token = try RestConnection.signUp("ann", port: ports[0])
    let connection = try RestConnection(port: ports[0], token: token)
    let answer = try connection.send("POST", "/v1/tables/lists", ["columns": ["title": "Home"]], id: "list")
    list = try #require(answer.json["id"]?.stringValue)
  }

  /// Sends the same creates over each connection, each in another order, and expects one answer for each of them.
  func rage(connections: Int, creates: Int) throws {
    let answers = Mutex<[Int: [UInt8]]>([:])
    let faults = Mutex<[String]>([])
    let firsts = Mutex(0)
    let group = DispatchGroup()
    for number in 0..<connections {
      DispatchQueue(label: "connection \(number)").async(group: group) {
        do {
          let connection = try RestConnection(port: ports[number % ports.count], token: token)
          for create in (0..<creates).map({ $0 }).shuffled(seed: UInt64(number / 2)) {
            let answer = try connection.insist(
              "POST", "/v1/tables/items", body(create), id: "create \(create)")
            if !answer.isReplay { firsts.withLock { $0 += 1 } }
            let isSame = answers.withLock { known in
              if known[create] == nil { known[create] = answer.body }
              return known[create] == answer.body
            }
            if answer.status != 201 || !isSame {
              faults.withLock { $0.append("\(create): \(String(decoding: answer.body, as: UTF8.self))") }
            }
          }
        } catch { faults.withLock { $0.append("\(error)") } }
      }
    }
    group.wait()
    #expect(faults.withLock { $0 } == [])
    #expect(firsts.withLock { $0 } == creates)
    #expect(Set(answers.withLock { $0.values }).count == creates)
  }

  private func body(_ create: Int) -> JSONValue {
    let position = Position.between(nil, nil, replica: Position.Replica(random: 1), nonce: UInt64(create))
    return [
      "columns": [
        "list_id": .string(list), "title": .string("Item \(create)"), "position": .string(position.string),
      ]
    ]
  }
}

@Suite("Requests with ids")
struct RequestStormTests {
  @Test(
    "64 connections send the same 250 creates at once, and 250 records are left (I1)",
    .timeLimit(.minutes(5)))
  func storm() throws {
    let scene = try Scene()
    let storm = try RequestStorm([scene.server.port])
    try storm.rage(connections: 64, creates: 250)
    let database = try scene.server.database()
    #expect(try database.value("SELECT count(*) FROM items")?.integer == 250)
    #expect(try database.value("SELECT count(DISTINCT title) FROM items")?.integer == 250)
    try database.expectSound()
  }

  @Test("a server that is killed knows afterwards what it answered (I1, I2)")
  func killed() throws {
    let scene = try Scene()
    let storm = try RequestStorm([scene.server.port])
    try storm.rage(connections: 2, creates: 20)
    let before = try RestConnection(port: scene.server.port, token: storm.token)
    let item: JSONValue = ["columns": ["title": "Other"]]
    let first = try before.send("PATCH", "/v1/tables/lists/\(storm.list)", item, id: "patch")
    scene.server.kill()
    try scene.server.start()
    let after = try RestConnection(port: scene.server.port, token: storm.token)
    let again = try after.send("PATCH", "/v1/tables/lists/\(storm.list)", item, id: "patch")
    #expect(first.status == 200 && !first.isReplay && again.isReplay && again.body == first.body)
    let list = try after.send("POST", "/v1/tables/lists", ["columns": ["title": "Home"]], id: "list")
    #expect(list.isReplay && list.json["id"]?.stringValue == storm.list)
    #expect(try scene.server.database().value("SELECT count(*) FROM lists")?.integer == 1)
  }
}
