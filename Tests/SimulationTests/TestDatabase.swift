import CSQLite
import Testing

@testable import HoldfastSimulation

/// Random numbers from a seed: splitmix64.
final class Seeded {
  private var state: UInt64
  init(_ seed: UInt64) { state = seed }

  func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

/// What SQLite answered instead of OK.
struct SQLiteFailure: Error, Equatable {
  let code: Int32
  var primary: Int32 { code & 0xff }
}

/// A connection over one simulated disk.
final class TestDatabase {
  private let handle: OpaquePointer

  init(_ path: String, on fileSystem: String, flags: Int32 = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
    throws
  {
    var opened: OpaquePointer?
    let result = sqlite3_open_v2(path, &opened, flags | SQLITE_OPEN_NOMUTEX, fileSystem)
    guard result == SQLITE_OK, let opened else {
      sqlite3_close_v2(opened)
      throw SQLiteFailure(code: result)
    }
    handle = opened
    sqlite3_extended_result_codes(opened, 1)
  }

  deinit { sqlite3_close_v2(handle) }

  func run(_ sql: String) throws {
    let result = sqlite3_exec(handle, sql, nil, nil, nil)
    guard result == SQLITE_OK else { throw SQLiteFailure(code: result) }
  }

  /// The first column of every row, as text.
  func texts(_ sql: String) throws -> [String] {
    var statement: OpaquePointer?
    let prepared = sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
    guard prepared == SQLITE_OK else { throw SQLiteFailure(code: prepared) }
    defer { sqlite3_finalize(statement) }
    var texts: [String] = []
    while true {
      let result = sqlite3_step(statement)
      if result == SQLITE_DONE { return texts }
      guard result == SQLITE_ROW else { throw SQLiteFailure(code: result) }
      texts.append(sqlite3_column_text(statement, 0).map { String(cString: $0) } ?? "")
    }
  }

  func text(_ sql: String) throws -> String? { try texts(sql).first }

  /// Leaves an open transaction, if there is one.
  func rollBack() {
    if sqlite3_get_autocommit(handle) == 0 { sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
  }
}

/// Calls `body` with a disk of its own that SQLite knows by the name that is passed too.
func withDisk(seed: UInt64 = 1, name: String = #function, _ body: (SimulatedDisk, String) throws -> Void)
  rethrows
{
  let random = Seeded(seed)
  let disk = SimulatedDisk(now: { _ in 0 }, random: random.next)
  disk.register(isDefault: false, name: name)
  defer { disk.unregister() }
  try body(disk, name)
}
