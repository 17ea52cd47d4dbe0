import Foundation
import HoldfastSQLite
import Testing

/// A program that writes on a device's file without Holdfast, with the settings that it has by itself.
enum ForeignProgram: String, CaseIterable, CustomTestStringConvertible {
  /// The sqlite3 shell: neither foreign keys nor recursive triggers.
  case shell
  /// Python's sqlite3: the same, in transactions of its own.
  case python
  /// Another library with both on.
  case strict

  var testDescription: String { rawValue }

  /// Those that are on this machine.
  static let here = allCases.filter { $0.path.map(FileManager.default.isExecutableFile) ?? true }

  private var path: String? {
    switch self {
    case .shell: "/usr/bin/sqlite3"
    case .python: "/usr/bin/python3"
    case .strict: nil
    }
  }

  /// Runs statements in one transaction.
  ///
  /// - Throws: `ForeignProgramError` with what the program says of a statement that fails.
  func run(_ sql: String, on file: String) throws {
    switch self {
    case .strict:
      let connection = try SQLiteConnection(path: file)
      try connection.execute("PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ON")
      do { try connection.transaction { try connection.execute(sql) } } catch let error as SQLiteError {
        throw ForeignProgramError(message: error.message)
      }
    case .shell: try start(["-bail", file, "BEGIN IMMEDIATE; \(sql); COMMIT"])
    case .python:
      let script = """
        import sqlite3, sys
        with sqlite3.connect(sys.argv[1], timeout=30) as db:
            for statement in sys.argv[2].split(';'):
                db.execute(statement)
        """
      try start(["-c", script, file, sql])
    }
  }

  private func start(_ arguments: [String]) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path ?? "")
    process.arguments = arguments
    let errors = Pipe()
    process.standardError = errors
    try process.run()
    let message = errors.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    if process.terminationStatus != 0 {
      throw ForeignProgramError(message: String(decoding: message, as: UTF8.self))
    }
  }
}

struct ForeignProgramError: Error {
  let message: String
}
