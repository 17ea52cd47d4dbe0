import Foundation
import HoldfastCore
import HoldfastSQLite
import ServerScenes
import Synchronization
import Testing

@testable import HoldfastSQLiteStore
@testable import HoldfastServer

@Suite("Backups")
struct BackupTests {
  @Test("a backup restores all that there was, under a new epoch, and the database is sound")
  func restored() throws {
    let server = try TestServer()
    let anna = try server.signUp("anna")
    let list = try anna.makeList()
    for number in 1...40 { _ = try anna.makeItem(list, "Item \(number)\t\\ \u{1F600}") }
    let gone = try anna.makeItem(list)
    try anna.sync([.delete("items", gone)])
    let restored = try server.restored()
    #expect(try restored.findings().isEmpty)
    let other = try restored.signIn("anna")
    try other.pull()
    try anna.pull()
    #expect(other.records == anna.records)
    #expect(other.records.count > 40)
    let epoch = other.acks[list]?.split(separator: ".").first
    #expect(epoch != nil && epoch != anna.acks[list]?.split(separator: ".").first)
  }

  @Test("the restored server goes on: new users, devices, lists")
  func goesOn() throws {
    let server = try TestServer()
    let anna = try server.signUp("anna")
    _ = try anna.makeList()
    let restored = try server.restored()
    let bert = try restored.signUp("bert")
    let list = try bert.makeList("Bert's")
    _ = try bert.makeItem(list)
    let again = try restored.signIn("anna")
    _ = try again.makeList("Another")
    #expect(try restored.findings().isEmpty)
  }

  @Test("a folder keeps the latest backups, and nothing is removed before the new one is good (I2)")
  func folder() throws {
    let server = try TestServer()
    let anna = try server.signUp("anna")
    _ = try anna.makeList()
    let path = URL(fileURLWithPath: try server.backUp()).deletingLastPathComponent()
      .appendingPathComponent("kept-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: path) }
    let others = ["notes.txt", "holdfast-mine.backup", "holdfast-2026.backup"]
    for name in others { try Data("x".utf8).write(to: URL(fileURLWithPath: "\(path)/\(name)")) }
    var files: [String] = []
    for day in 0..<4 {
      var environment = ServerEnvironment.system
      environment.now = { 1_790_000_000_000 + Int64(day) * 86_400_000 }
      let made = try BackupFolder(path).add(
        Backup(server.location), keeping: 2, environment: environment)
      files.append(made.path)
      #expect(made.removed == (day < 2 ? [] : [files[day - 2]]))
      #expect(try Backup.verify(made.path) == made.summary)
    }
    // The same moment again: the file is there, so the backup fails, and all others stay.
    var environment = ServerEnvironment.system
    environment.now = { 1_790_000_000_000 + 3 * 86_400_000 }
    #expect(throws: (any Error).self) {
      try BackupFolder(path).add(Backup(server.location), keeping: 1, environment: environment)
    }
    let left = try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    #expect(left.count == others.count + 2)
    for name in others { #expect(left.contains(name)) }
    var bytes = try Data(contentsOf: URL(fileURLWithPath: files[3]))
    bytes[bytes.count / 2] ^= 1
    try bytes.write(to: URL(fileURLWithPath: files[3]))
    #expect(throws: ServerError.self) { try Backup.verify(files[3]) }
  }

  @Test("a clock that is set back, or was ahead, does not cost the new backup (I2)")
  func clockBack() throws {
    let server = try TestServer()
    _ = try server.signUp("anna").makeList()
    let path = URL(fileURLWithPath: try server.backUp()).deletingLastPathComponent()
      .appendingPathComponent("kept-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: path) }
    var files: [String] = []
    // The fourth is made a year before the others, and the clock stays there.
    for day in [0, 1, 2, -365, -364, -363] {
      var environment = ServerEnvironment.system
      environment.now = { 1_790_000_000_000 + Int64(day) * 86_400_000 }
      let made = try BackupFolder(path).add(Backup(server.location), keeping: 3, environment: environment)
      files.append(made.path)
      #expect(made.removed == Array(files.dropLast(3).suffix(1)))
      #expect(try Backup.verify(made.path) == made.summary)
    }
  }

  /// Makes an empty folder for backups.
  private func makeFolder(_ server: TestServer) throws -> String {
    let path = server.folder.appendingPathComponent("kept-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }

  @Test("a database and one that was restored from it never remove each other's backups (I2)")
  func shared() throws {
    let server = try TestServer()
    _ = try server.signUp("anna").makeList()
    let restored = try server.restored()
    let path = try makeFolder(server)
    // Of an earlier release, whose names do not say whose they are.
    let old = "\(path)/holdfast-2026-01-01T00-00-00.000Z.backup"
    _ = try Backup(server.location).write(to: old)
    var files: [[String]] = [[], []]
    for day in 0..<4 {
      var environment = ServerEnvironment.system
      environment.now = { 1_790_000_000_000 + Int64(day) * 86_400_000 }
      for (index, location) in [server.location, restored.location].enumerated() {
        let made = try BackupFolder(path).add(Backup(location), keeping: 2, environment: environment)
        files[index].append(made.path)
        #expect(made.removed == (day < 2 ? [] : [files[index][day - 2]]))
        #expect(made.others == 1 + min(day + index, 2))
      }
    }
    let left = try FileManager.default.contentsOfDirectory(atPath: path).map { "\(path)/\($0)" }
    #expect(left.sorted() == ([old] + files.flatMap { $0.suffix(2) }).sorted())
  }

  @Test("what a killed backup left is removed by the next one, and nothing of one that runs (I2)")
  func leftovers() throws {
    let server = try TestServer()
    _ = try server.signUp("anna")
    let path = try makeFolder(server)
    let (killed, running) = (
      "holdfast-2026-01-01T00-00-00.000Z-0123abcd.backup", "holdfast-2026-01-02T00-00-00.000Z.backup"
    )
    func add(_ names: [String]) throws {
      for name in names { try Data("x".utf8).write(to: URL(fileURLWithPath: "\(path)/\(name)")) }
    }
    let others = ["notes.tmp", "holdfast-mine.backup.copy"]
    try add(others + [".copy", ".copy-journal", ".copy-wal", ".copy-shm", ".tmp"].map { killed + $0 })
    // This one was killed when it was complete.
    try add(["holdfast-2026-01-03T00-00-00.000Z.backup.copy"])
    var draft: BackupDraft? = try BackupDraft(of: "\(path)/\(running)")
    try add([running + ".copy"])
    let made = URL(fileURLWithPath: try BackupFolder(path).add(Backup(server.location), keeping: 2).path)
    let kept = others + [made.lastPathComponent]
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: path).sorted()
        == (kept + [running + ".copy", running + ".tmp"]).sorted())
    let error = #expect(throws: ServerError.self) {
      try Backup(server.location).write(to: "\(path)/\(running)")
    }
    #expect(error?.code == .inUse)
    #expect(draft != nil)
    draft = nil
    #expect(try FileManager.default.contentsOfDirectory(atPath: path).sorted() == kept.sorted())
  }

  @Test("a file that was cut off or altered anywhere is refused, and nothing is written")
  func altered() throws {
    let server = try TestServer()
    let anna = try server.signUp("anna")
    _ = try anna.makeList()
    let path = try server.backUp()
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    let empty = try server.makeEmptyLocation()
    for place in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 60)) {
      var altered = bytes
      altered[place] ^= 0x10
      for wrong in [altered, bytes.prefix(place)] {
        try wrong.write(to: URL(fileURLWithPath: path + ".wrong"))
        #expect(throws: ServerError.self) { try Restore(empty).run(path + ".wrong") }
      }
    }
    #expect(throws: ServerError.self) { try empty.open(schema: nil, random: { _ in [] }) }
    _ = try Restore(empty).run(path)
  }

  @Test("what was inconsistent in the database is restored as it was, and said (I2)")
  func inconsistent() throws {
    let server = try TestServer()
    let anna = try server.signUp("anna")
    let list = try anna.makeList()
    try server.change(
      sqlite: "DELETE FROM members WHERE zone = '\(list)'",
      postgres: "DELETE FROM holdfast.members WHERE zone = '\(list)'")
    let path = try server.backUp()
    let empty = try server.makeEmptyLocation()
    let restored = try Restore(empty).run(path)
    #expect(restored.findings.contains { $0.kind == .owner && $0.text.contains(list) })
    let administration = try Administration(empty)
    #expect(try administration.doctor().contains { $0.kind == .owner && $0.text.contains(list) })
    try administration.grant(zone: list, name: "anna", role: .owner)
    #expect(try !administration.doctor().contains { $0.kind == .owner })
  }

  @Test("a link, a pipe or a file of others beside a backup is neither written to nor used (I10)")
  func foreignFiles() throws {
    let server = try TestServer()
    _ = try server.signUp("anna")
    let files = FileManager.default
    try files.createDirectory(at: server.folder, withIntermediateDirectories: true)
    func path(_ name: String) -> String { server.folder.appendingPathComponent(name).path }
    try Data("mine".utf8).write(to: URL(fileURLWithPath: path("other")))
    for (number, ending) in [".tmp", ".copy", ".copy-wal", ".copy-journal"].enumerated() {
      let (linked, piped, open) = (path("linked-\(number)"), path("piped-\(number)"), path("open-\(number)"))
      try files.createSymbolicLink(atPath: linked + ending, withDestinationPath: path("other"))
      #expect(mkfifo(piped + ending, 0o666) == 0)
      try Data("theirs".utf8).write(to: URL(fileURLWithPath: open + ending))
      try files.setAttributes([.posixPermissions: 0o666], ofItemAtPath: open + ending)
      // Who had it open before reads nothing of the backup.
      let reader = try #require(FileHandle(forReadingAtPath: open + ending))
      for backup in [linked, piped, open] {
        let made = try Backup(server.location).write(to: backup)
        #expect(try Backup.verify(backup) == made)
        let attributes = try files.attributesOfItem(atPath: backup)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(attributes[.type] as? FileAttributeType == .typeRegular)
      }
      #expect(try reader.readToEnd() == Data("theirs".utf8))
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: path("other"))) == Data("mine".utf8))
  }

  @Test("a database that is not empty is not restored over, and a file is not written over")
  func notOver() throws {
    let server = try TestServer()
    _ = try server.signUp("anna")
    let path = try server.backUp()
    #expect(throws: ServerError.self) { try Backup(server.location).write(to: path) }
    let bert = try server.signUp("bert")
    server.inline = nil
    #expect(throws: ServerError.self) { try Restore(server.location).run(path) }
    try server.reopen()
    #expect(try bert.sync().confirmed == 0)
  }
}

@Suite("Backups of SQLite", .enabled(if: Engine.used == .sqlite))
struct SQLiteBackupTests {
  @Test("with --replace the database that was there is moved aside, whole")
  func replaced() throws {
    let server = try TestServer()
    _ = try server.signUp("anna")
    let path = try server.backUp()
    _ = try server.signUp("bert")
    server.inline = nil
    _ = try Restore(server.location).run(path, replacing: true)
    #expect(try Administration(server.location).users().rows.map { $0[1] } == ["anna"])
    let aside = DatabaseLocation.directory(server.path + "/replaced-1")
    #expect(try Administration(aside).users().rows.map { $0[1] } == ["anna", "bert"])
  }

  @Test("a copy of a database is not backed up among the backups of the original (I2)")
  func copied() throws {
    let server = try TestServer()
    _ = try server.signUp("anna")
    let files = FileManager.default
    let (kept, copy) = (server.folder.path + "/kept", server.folder.path + "/copy")
    for folder in [kept, copy] {
      try files.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }
    let original = try BackupFolder(kept).add(Backup(server.location), keeping: 1)
    try SQLiteConnection(path: server.database).backup(to: copy + "/holdfast.db")
    let error = #expect(throws: ServerError.self) {
      try BackupFolder(kept).add(Backup(.directory(copy)), keeping: 1)
    }
    #expect(error?.code == .refused && error?.description.contains("--begin-epoch") == true)
    #expect(try BackupFolder(kept).names().count == 1)
    try Restore(.directory(copy)).beginEpoch()
    let other = try BackupFolder(kept).add(Backup(.directory(copy)), keeping: 1)
    #expect(other.removed.isEmpty && other.others == 1)
    #expect(try Backup.verify(original.path) == original.summary)
  }

  @Test("a server that runs on the directory is not restored over")
  func inUse() throws {
    let server = try TestServer()
    let path = try server.backUp()
    #expect(throws: ServerError.self) { try Restore(server.location).run(path, replacing: true) }
    #expect(throws: ServerError.self) { try Restore(server.location).beginEpoch() }
  }

  @Test("who is told that a directory is in use closes no file of another (I2)")
  func refusedLocks() throws {
    let server = try TestServer()
    let directory = DataDirectory(path: server.path)
    // One end of the work opens files, while at the other locks are refused.
    let lost = Atomic(0)
    DispatchQueue.concurrentPerform(iterations: 2) { end in
      for _ in 0..<3000 {
        if end == 0 {
          _ = try? DataDirectoryLock(directory)
        } else {
          let file = open("/dev/null", O_RDONLY | O_CLOEXEC)
          for _ in 0..<10 where fcntl(file, F_GETFD) < 0 { lost.add(1, ordering: .relaxed) }
          if close(file) != 0 { lost.add(1, ordering: .relaxed) }
        }
      }
    }
    #expect(lost.load(ordering: .relaxed) == 0)
  }

  @Test("a restore that was killed at any step leaves what was there, or the whole (I2)", arguments: 0...4)
  func killed(step: Int) throws {
    let server = try TestServer()
    _ = try server.signUp("anna")
    let path = try server.backUp()
    _ = try server.signUp("bert")
    server.inline = nil
    // What each step leaves, made by hand of a restore elsewhere.
    let other = server.folder.appendingPathComponent("other").path
    _ = try Restore(.directory(other)).run(path)
    let files = FileManager.default
    let (database, whole) = (server.database, server.database + ".whole")
    switch step {
    case 0: try Data(count: 5000).write(to: URL(fileURLWithPath: database + ".partial"))
    case 1: try files.copyItem(atPath: other + "/holdfast.db", toPath: database + ".partial")
    default: try files.copyItem(atPath: other + "/holdfast.db", toPath: whole)
    }
    if step >= 3 {
      let aside = server.path + "/replaced-1"
      try files.createDirectory(atPath: aside, withIntermediateDirectories: true)
      if step == 4 { try files.moveItem(atPath: database, toPath: aside + "/holdfast.db") }
    }
    if step >= 2 { #expect(throws: ServerError.self) { try Administration(server.location) } }
    try server.reopen()
    let users = try Administration(server.location).users().rows.map { $0[1] }
    #expect(users == (step < 2 ? ["anna", "bert"] : ["anna"]))
    #expect(try server.findings().isEmpty)
    if step >= 2 {
      let aside = DatabaseLocation.directory(server.path + "/replaced-1")
      #expect(try Administration(aside).users().rows.map { $0[1] } == ["anna", "bert"])
    }
    server.inline = nil
    _ = try Restore(server.location).run(path, replacing: true)
    #expect(!files.fileExists(atPath: database + ".partial"))
  }

  @Test("a restored backup of a restored database knows the epochs of both (I3)")
  func earlierEpochs() throws {
    let server = try TestServer()
    let first = try server.restored()
    let second = try first.restored()
    let epochs = try [server, first, second].map { try #require($0.inline).api.database.history }
    #expect(epochs[2].earlier == [epochs[1].epoch, epochs[0].epoch])
  }

}
