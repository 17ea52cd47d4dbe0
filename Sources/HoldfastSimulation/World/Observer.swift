import HoldfastCore

/// Reads the database of a machine without the product's code. It is a separate process without faults.
final class Observer {
  let process: SimulatedProcess
  let database: RawDatabase

  init(_ process: SimulatedProcess, path: String) throws {
    self.process = process
    database = try RawDatabase(path: path)
  }
}
