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

extension World {
  // MARK: Devices

  /// Updates the view of a device.
  func look(at device: SimulatedDevice) {
    observe(device) { device.view = try $0.deviceView(tables: tables(device.version)) }
  }

  func soundness(of device: SimulatedDevice) -> [String] {
    var faults: [String] = []
    observe(device) { faults = try $0.soundness() }
    return faults
  }

  func rememberedDeletions(of device: SimulatedDevice) -> [RecordKey: Int64] {
    var deletions: [RecordKey: Int64] = [:]
    observe(device) { deletions = try $0.rememberedDeletions() }
    return deletions
  }

  func closeObserver(of device: SimulatedDevice) {
    if let observer = device.observer { disk.kill(observer.process) }
    device.observer = nil
  }

  /// The id of a device's user; empty before the first sign-in.
  func userID(of device: SimulatedDevice) -> String {
    if let known = userIDs[device.user] { return known }
    observe(device) {
      guard let id = try $0.rows("SELECT user FROM holdfast_local").first?.first?.string else { return }
      userIDs[device.user] = id
    }
    return userIDs[device.user] ?? ""
  }

  private func observe(_ device: SimulatedDevice, _ read: (RawDatabase) throws -> Void) {
    do {
      let observer = try device.observer ?? observer(on: device.machine, path: device.path)
      device.observer = observer
      try run(as: observer.process) { try read(observer.database) }
    } catch {
      oracle.report("I2", "\(device.machine): can not be read: \(error)")
    }
  }

  // MARK: The server

  /// Updates the view of the server.
  func lookAtServer() {
    if let postgres = plan.postgres {
      do { server.view = try postgres.serverView(schema(server.version)) } catch {
        oracle.report("I2", "the server can not be read: \(error)")
      }
      return
    }
    observeServer { server.view = try $0.serverView(tables: tables(server.version)) }
  }

  func serverSoundness() -> [String] {
    if let postgres = plan.postgres { return (try? postgres.soundness()) ?? ["can not be read"] }
    var faults: [String] = []
    observeServer { faults = try $0.soundness() + $0.wrongCounts(tables(server.version)) }
    return faults
  }

  func closeServerObserver() {
    if let observer = server.observer { disk.kill(observer.process) }
    server.observer = nil
  }

  private func observeServer(_ read: (RawDatabase) throws -> Void) {
    do {
      let observer = try server.observer ?? observer(on: SimulatedServer.machine, path: SimulatedServer.path)
      server.observer = observer
      try run(as: observer.process) { try read(observer.database) }
    } catch {
      oracle.report("I2", "the server can not be read: \(error)")
    }
  }

  private func observer(on machine: String, path: String) throws -> Observer {
    let process = disk.start(on: machine)
    observers.insert(process)
    return try run(as: process) { try Observer(process, path: path) }
  }

  private func tables(_ version: Schemas.Version) -> [String] { schema(version).tables.map(\.name) }

  /// The columns of a version's tables, by the model's names.
  func columns(of version: Schemas.Version) -> TextMap<TextSet> {
    schema(version).tables.reduce(into: [:]) {
      $0[$1.name] = TextSet($1.columns.map { Schemas.firstName(of: $0.name) })
    }
  }
}
