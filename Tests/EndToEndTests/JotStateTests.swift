import Foundation
import Holdfast
import HoldfastServer
import HostileServer
import Testing

/// What Jot says of the account and of the sync.
@Suite("What Jot says of itself") struct JotStateTests {
  /// A server, and the file of a device of ann's with a list, which is synced.
  private func scene() throws -> (Scene, URL) {
    let scene = try Scene(schema: Scene.jotSchema())
    let file = scene.folder.appendingPathComponent("jot.db")
    #expect(try JotRun.run(file, scene.server.address, ["add", "Home", "Milk"]).status == 0)
    #expect(try JotRun.runUntilServed(file, scene.server.address, ["sign-up", "ann"]).status == 0)
    return (scene, file)
  }

  @Test("a list that is fetched again later is named, and when it goes on (I12)")
  func waiting() throws {
    let (scene, file) = try scene()
    let server = scene.server.address
    func resync() throws -> String {
      // The server hears with the next sync that the zones are here.
      #expect(try JotRun.runUntilServed(file, server).status == 0)
      try Administration(scene.server.shared.location).reset(.all, zone: nil)
      return try JotRun.runUntilServed(file, server).output
    }
    #expect(try resync().contains("In sync: "))
    let later = try resync()
    #expect(later.contains("Synced: ") && later.contains("fetched again"))
    let list = try #require(
      try SQLiteConnection(path: file.path, access: .readOnly).value("SELECT id FROM lists")?.text)
    #expect(
      try JotRun.run(file, server, ["status"]).output.contains("resync      \(list) is fetched again at 2"))
    let status = try JSONValue(parsing: try JotRun.run(file, server, ["status", "--json"]).output)
    #expect(
      status["waiting_zones"]?.elements?.contains { $0["zone"]?.stringValue == list && $0["until"] != nil }
        == true)
    let sync = try JSONValue(parsing: try JotRun.runUntilServed(file, server, ["sync", "--json"]).output)
    #expect((sync["waiting_zones"]?.integerValue ?? 0) > 0)
  }

  @Test("what others have chosen does not control the terminal (I10)")
  func escapes() throws {
    let (scene, file) = try scene()
    try SQLiteConnection(path: file.path).execute(
      """
      UPDATE holdfast_local SET name = 'eve' || char(27) || ']0;x' || char(7), device = 'd' || char(155) || '2J';
      INSERT INTO holdfast_resets VALUES ('z' || char(27), 1, 1, 9999999999999);
      INSERT INTO holdfast_awaiting_recovery VALUES ('y' || char(27), 9999999999999, 0);
      """)
    let status = try JotRun.run(file, scene.server.address, ["status", "--server", "http://h\u{1B}"]).output
    #expect(status.contains(#"eve\u{1B}]0;x\u{7}"#))
    #expect(status.contains(#"d\u{9B}2J"#))
    #expect(!status.unicodeScalars.contains { [0x1B, 0x07, 0x9B].contains($0.value) })
  }

  @Test("a device whose account has no user can be signed out")
  func halfSession() throws {
    let (scene, file) = try scene()
    try SQLiteConnection(path: file.path).execute("UPDATE holdfast_local SET user = NULL")
    let server = scene.server.address
    #expect(try JotRun.run(file, server, ["status"]).output.contains("account     ann"))
    #expect(
      try JotRun.run(file, server, ["sign-out", "--remove-data", "--discard-unsent"]).output.contains(
        "Signed out"))
    #expect(try JotRun.run(file, server, ["status"]).output.contains("none yet"))
  }

  @Test("watch says when somebody must sign in again, and when something else answers than the server (I3)")
  func watch() throws {
    let (scene, file) = try scene()
    let page = "HTTP/1.1 401 X\r\nContent-Length: 6\r\n\r\n<html>"
    let portal = try HostileServer(Array(repeating: .bytes([UInt8](page.utf8)), count: 20))
    defer { portal.stop() }
    let behindPortal = try JotRun.start(file, try #require(URL(string: portal.url)), ["watch", "Home"])
    #expect(
      behindPortal.waitForError("No sync for now: What answered with status 401 is no Holdfast server."))
    _ = behindPortal.kill()
    let device = try #require(
      try SQLiteConnection(path: file.path, access: .readOnly).value("SELECT device FROM holdfast_local")?
        .text)
    try Administration(scene.server.shared.location).revoke(device: device)
    let revoked = try JotRun.start(file, scene.server.address, ["watch", "Home"])
    #expect(revoked.waitForError("Nobody is signed in: `jot sign-in NAME` goes on."))
    _ = revoked.kill()
  }

  @Test("the address of the server is written when it changes, and not with each sync")
  func address() throws {
    let (scene, file) = try scene()
    func number() throws -> UInt64? {
      try FileManager.default.attributesOfItem(atPath: file.path + ".server")[.systemFileNumber] as? UInt64
    }
    let first = try #require(try number())
    #expect(try JotRun.runUntilServed(file, scene.server.address).status == 0)
    #expect(try number() == first)
    let other = try #require(URL(string: "http://localhost:\(scene.server.port)"))
    #expect(try JotRun.runUntilServed(file, other).status == 0)
    #expect(try String(contentsOfFile: file.path + ".server", encoding: .utf8) == "\(other)\n")
  }
}
