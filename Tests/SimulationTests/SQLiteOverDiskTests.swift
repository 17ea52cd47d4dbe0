import CSQLite
import HoldfastCore
import Testing

@testable import HoldfastSimulation

@Suite("SQLite over the simulated disk")
struct SQLiteOverDiskTests {
  private static let path = "/device/app.db"

  private func open(_ fileSystem: String) throws -> TestDatabase {
    let database = try TestDatabase(Self.path, on: fileSystem)
    #expect(try database.text("PRAGMA journal_mode = WAL") == "wal")
    try database.run("CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, body TEXT)")
    return database
  }

  private func busy(_ body: () throws -> Void) -> Bool {
    do {
      try body()
      return false
    } catch {
      return (error as? SQLiteFailure)?.primary == SQLITE_BUSY
    }
  }

  @Test("a reader keeps its snapshot while others write, and copying the log back waits for it (I5)")
  func snapshot() throws {
    try withDisk { disk, fileSystem in
      disk.running = disk.start(on: "device")
      let writer = try open(fileSystem)
      let reader = try open(fileSystem)
      try writer.run("INSERT INTO t VALUES (1, 'one')")
      try reader.run("BEGIN")
      #expect(try reader.text("SELECT count(*) FROM t") == "1")
      for id in 2...50 { try writer.run("INSERT INTO t VALUES (\(id), hex(zeroblob(3000)))") }
      #expect(
        busy { try writer.run("PRAGMA busy_timeout = 0; VACUUM; PRAGMA wal_checkpoint(RESTART)") } == false)
      #expect(try writer.text("PRAGMA wal_checkpoint(TRUNCATE)") == "1")
      #expect(try reader.text("SELECT count(*) FROM t") == "1")
      try reader.run("COMMIT")
      #expect(try reader.text("SELECT count(*) FROM t") == "50")
      #expect(try writer.text("PRAGMA wal_checkpoint(TRUNCATE)") == "0")
      #expect(try reader.texts("PRAGMA integrity_check") == ["ok"])
      #expect(disk.image(of: "device").files["app.db-wal"] == [])
    }
  }

  @Test("the last connection to close leaves one file behind")
  func lastClose() throws {
    try withDisk { disk, fileSystem in
      disk.running = disk.start(on: "device")
      do {
        let first = try open(fileSystem)
        let second = try open(fileSystem)
        try first.run("INSERT INTO t VALUES (1, 'one')")
        #expect(try second.text("SELECT body FROM t") == "one")
        #expect(disk.list("/device") == ["app.db", "app.db-wal"])
      }
      #expect(disk.list("/device") == ["app.db"])
    }
  }

  @Test("two processes on one file exclude each other, and a killed one's lock is gone at once")
  func twoProcesses() throws {
    try withDisk { disk, fileSystem in
      let app = disk.start(on: "device")
      let helper = disk.start(on: "device")
      disk.running = app
      let first = try open(fileSystem)
      disk.running = helper
      let second = try open(fileSystem)
      disk.running = app
      try first.run("BEGIN IMMEDIATE; INSERT INTO t VALUES (1, 'one')")
      disk.running = helper
      #expect(busy { try second.run("BEGIN IMMEDIATE") })
      #expect(try second.text("SELECT count(*) FROM t") == "0")
      disk.kill(app)
      #expect(!disk.isAlive(app) && disk.isAlive(helper))
      try second.run("INSERT INTO t VALUES (2, 'two')")
      #expect(throws: SQLiteFailure.self) { try first.run("COMMIT") }
      first.rollBack()
      #expect(try second.texts("SELECT id FROM t") == ["2"])
      #expect(try second.texts("PRAGMA integrity_check") == ["ok"])
    }
  }

  @Test(
    "a killed process's big transaction, half in the log, harms neither the other process nor the next (I6)")
  func killedInTheMiddle() throws {
    try withDisk { disk, fileSystem in
      let app = disk.start(on: "device")
      let helper = disk.start(on: "device")
      disk.running = helper
      let second = try open(fileSystem)
      disk.running = app
      var first: TestDatabase? = try open(fileSystem)
      try first?.run("PRAGMA cache_size = 2; BEGIN IMMEDIATE")
      for id in 1...100 { try first?.run("INSERT INTO t VALUES (\(id), hex(zeroblob(3000)))") }
      disk.kill(app)
      disk.running = helper
      try second.run("INSERT INTO t VALUES (1000, 'kept')")
      // What SQLite undoes when the dead process's connection is closed must not reach the living.
      first = nil
      try second.run("INSERT INTO t VALUES (1001, 'kept')")
      #expect(try second.texts("SELECT id FROM t") == ["1000", "1001"])
      disk.kill(helper)
      disk.running = disk.start(on: "device")
      let third = try open(fileSystem)
      #expect(try third.texts("SELECT id FROM t") == ["1000", "1001"])
      #expect(try third.texts("PRAGMA integrity_check") == ["ok"])
    }
  }

  @Test("the locks of the rollback journal exclude each other as SQLite's own do")
  func rollbackLocks() throws {
    try withDisk { disk, fileSystem in
      disk.running = disk.start(on: "device")
      let first = try TestDatabase(Self.path, on: fileSystem)
      try first.run("CREATE TABLE t (id INTEGER PRIMARY KEY)")
      disk.running = disk.start(on: "device")
      let second = try TestDatabase(Self.path, on: fileSystem)
      try second.run("BEGIN")
      #expect(try second.text("SELECT count(*) FROM t") == "0")
      try first.run("BEGIN IMMEDIATE; INSERT INTO t VALUES (1)")
      // A reader may go on beside a writer that has not begun to commit, and holds up its commit.
      #expect(busy { try second.run("INSERT INTO t VALUES (2)") })
      #expect(busy { try first.run("COMMIT") })
      let third = try TestDatabase(Self.path, on: fileSystem)
      #expect(busy { _ = try third.text("SELECT count(*) FROM t") })
      try second.run("COMMIT")
      try first.run("COMMIT")
      #expect(try third.text("SELECT count(*) FROM t") == "1")
    }
  }

  @Test("a full disk refuses writers and lets readers come and read")
  func full() throws {
    try withDisk { disk, fileSystem in
      disk.running = disk.start(on: "device")
      let writer = try open(fileSystem)
      try writer.run("INSERT INTO t VALUES (1, 'one')")
      disk.fault = { _ in .full }
      #expect(throws: SQLiteFailure(code: SQLITE_FULL)) { try writer.run("INSERT INTO t VALUES (2, 'two')") }
      let reader = try TestDatabase(Self.path, on: fileSystem)
      #expect(try reader.texts("SELECT id FROM t") == ["1"])
      disk.fault = nil
      try writer.run("INSERT INTO t VALUES (3, 'three')")
      #expect(try reader.texts("SELECT id FROM t") == ["1", "3"])
    }
  }

  @Test("the clock of SQL is the running process's")
  func clock() throws {
    try withDisk { disk, fileSystem in
      disk.now = { $0?.machine == "early" ? 0 : 1_000_000_000_000 }
      for (machine, seconds) in [("early", "0"), ("late", "1000000000")] {
        disk.running = disk.start(on: machine)
        let database = try TestDatabase("/\(machine)/app.db", on: fileSystem)
        let sql = "SELECT CAST(round((julianday('now') - 2440587.5) * 86400) AS INTEGER)"
        #expect(try database.text(sql) == seconds)
      }
    }
  }

  @Test("nothing is opened for nobody, for the dead, or on another machine")
  func strangers() {
    withDisk { disk, fileSystem in
      #expect(throws: SQLiteFailure(code: SQLITE_CANTOPEN)) { try open(fileSystem) }
      let process = disk.start(on: "device")
      disk.running = process
      disk.kill(process)
      #expect(throws: SQLiteFailure(code: SQLITE_CANTOPEN)) { try open(fileSystem) }
      disk.running = disk.start(on: "server")
      #expect(throws: SQLiteFailure(code: SQLITE_CANTOPEN)) { try open(fileSystem) }
    }
  }

  @Test("one seed gives the same bytes, steps and survivors; another seed others")
  func deterministic() async {
    // SQLite has one generator for a process, so a process of its own.
    await #expect(processExitsWith: .success) {
      let disk = SimulatedDisk(now: { _ in 0 }, random: { 0 })
      disk.register(isDefault: true)
      let outcome = { (seed: UInt64, step: Int) in
        disk.random = Seeded(seed).next
        disk.reset()
        disk.fault = { [unowned disk] _ in disk.steps == step ? .crash : .none }
        var workload = Workload(disk, "simulation")
        try? workload.run()
        return disk.image(of: "device")
      }
      let steps = Array(stride(from: 20, to: 400, by: 20))
      let first = steps.map { outcome(7, $0) }
      #expect(steps.map { outcome(7, $0) } == first)
      #expect(steps.map { outcome(8, $0) } != first)
    }
  }
}
