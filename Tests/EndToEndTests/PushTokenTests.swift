import Foundation
import HostileServer
import Testing

@testable import Holdfast

@Suite("Waking devices by a webhook, with the real server")
struct PushTokenTests {
  /// A push program: takes every call of the webhook.
  private let receiver = Result {
    try HostileServer(
      Array(
        repeating: .bytes([UInt8]("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{\"gone\":[]}".utf8)),
        count: 100))
  }

  /// The ids of the devices that the first call with a zone and `seq` or more names.
  private func devices(_ zone: String, _ receiver: HostileServer, from first: inout Int) throws -> [String] {
    while true {
      receiver.wait(for: first + 1)
      let call = receiver.received[first]
      first += 1
      let end = try #require(call.firstRange(of: [13, 10, 13, 10])?.upperBound)
      let body = try JSONValue(parsing: Array(call[end...]))
      if body["zones"]?.elements?.contains(where: { $0["zone"] == .string(zone) }) == true {
        return body["devices"]?.elements?.compactMap { $0["id"]?.stringValue } ?? []
      }
    }
  }

  @Test("a token that was set offline reaches the server, and the webhook names every device but the author")
  func wakes() async throws {
    let receiver = try receiver.get()
    defer { receiver.stop() }
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let secret = folder.appendingPathComponent("secret")
    try Data("0123456789abcdef".utf8).write(to: secret)
    let scene = try Scene(options: ["--webhook", receiver.url, "--webhook-secret", secret.path])
    // Before anybody is signed in, nothing can be sent.
    let phone = try scene.device("phone")
    try await phone.engine.setPushToken(PushToken(kind: "apns", token: "the phone's"))
    try await phone.engine.signUp(name: "ann", password: "correct-horse", device: "phone")
    try await phone.engine.sync()
    // From here on the server calls the program of each change as it happens.
    receiver.wait(for: 1)
    let tablet = try await scene.signIn("ann", on: "tablet")
    try await tablet.engine.setPushToken(PushToken(kind: "fcm", token: "the tablet's"))
    try await tablet.engine.sync()
    let tabletID = try #require(await tablet.store.account()?.device)
    let phoneID = try #require(await phone.store.account()?.device)

    let list = try await phone.store.write { db in
      let id = db.newID()
      try db.execute("INSERT INTO lists (id, title) VALUES (?, 'Groceries')", [.text(id)])
      return id
    }
    try await phone.engine.sync()
    var next = 0
    #expect(try devices(list, receiver, from: &next) == [tabletID])
    try await tablet.engine.sync()
    try await tablet.store.write {
      try $0.execute("UPDATE lists SET title = 'Wine' WHERE id = ?", [.text(list)])
    }
    try await tablet.engine.sync()
    #expect(try devices(list, receiver, from: &next) == [phoneID])

    // Of a removal, and of a sign-out, the server knows with the next request.
    try await tablet.engine.setPushToken(nil)
    try await tablet.engine.sync()
    try await phone.store.write {
      try $0.execute("UPDATE lists SET title = 'Tea' WHERE id = ?", [.text(list)])
    }
    try await phone.engine.sync()
    #expect(try devices(list, receiver, from: &next).isEmpty)
    try await phone.engine.signOut()
    try await phone.engine.signIn(name: "ann", password: "correct-horse", device: "phone")
    try await phone.engine.sync()
    try await tablet.store.write {
      try $0.execute("UPDATE lists SET title = 'Milk' WHERE id = ?", [.text(list)])
    }
    try await tablet.engine.sync()
    #expect(try devices(list, receiver, from: &next) == [phoneID])
    #expect(scene.server.stop() == 0)
    let files = try FileManager.default.contentsOfDirectory(at: scene.folder, includingPropertiesForKeys: nil)
    for log in files where log.pathExtension == "log" {
      let text = try String(contentsOf: log, encoding: .utf8)
      #expect(!text.isEmpty && !text.contains("the phone's") && !text.contains("the tablet's"))
    }
  }
}
