import Holdfast
import HoldfastCore

extension World {
  func perform(_ command: Command) {
    switch command.action {
    case .write(let number): if let device = device(number) { write(device, command) }
    case .sync(let number):
      if let device = device(number) { for app in device.apps { handle(.syncNow, app, device) } }
    case .pass(let milliseconds): pass(milliseconds)
    case .weather(let new): weather = new
    case .trouble(let trouble, let machine, let steps):
      if let name = name(of: machine) { armed[name] = (trouble, steps + 1) }
    case .room(let machine): if let name = name(of: machine) { full.remove(name) }
    case .clock(let machine, let jump):
      if let name = name(of: machine) { clocks[name, default: 0] += jump }
      if case .server = machine, jump > Operator.day { oracle.gaveUp() }
    case .signOut(let number, let removingData):
      if let device = device(number) { signOut(device, removingData: removingData, command) }
    case .secondProcess(let number): if let device = device(number) { toggleSecondProcess(device) }
    case .copy(let number): if let device = device(number) { copy(device) }
    case .restore(let number): if let device = device(number) { restore(device) }
    case .backUpServer: Operator(world: self).backUpServer()
    case .restoreServer: Operator(world: self).restoreServer()
    case .follow(let number, let isFollowed): if let device = device(number) { follow(device, isFollowed) }
    case .upgrade(let machine): install(.larger, on: machine)
    }
  }

  private func device(_ number: Int) -> SimulatedDevice? {
    devices.indices.contains(number) ? devices[number] : nil
  }

  private func name(of machine: Command.Machine) -> String? {
    switch machine {
    case .server: SimulatedServer.machine
    case .device(let number): device(number)?.machine
    }
  }

  private func signOut(_ device: SimulatedDevice, removingData: Bool, _ command: Command) {
    guard let app = device.apps.first else { return }
    let discarding = command.seed % 3 == 0
    do {
      let token = try run(as: app.process) { try app.database.sessionToken() }
      try run(as: app.process) {
        try SignOut(database: app.database).run(removingData: removingData, discardingUnsent: discarding)
      }
      guard checkLife(app, device, .other) else { return }
      look(at: device)
      if removingData {
        if discarding { oracle.purged(device: device.machine) }
        oracle.purgedLost(device: device.machine)
        device.isFollowing = false
        device.backup = nil
        oracle.applied(device: device.machine, user: userID(of: device), view: device.view)
      }
      handle(.signedOut, app, device)
      if let token {
        send(
          TransportRequest(method: "DELETE", path: "v1/sessions/current", token: token), .nothing, app, device
        )
      }
      device.wantsSession = false
      timeline.add(.signIn(device), at: now + 500 + Int64(command.seed % 9000))
    } catch {
      history.add("\(device.machine): not signed out: \(error)", at: now)
      _ = checkLife(app, device, .other)
    }
  }

  /// A second process on the same file starts or ends.
  private func toggleSecondProcess(_ device: SimulatedDevice) {
    if device.apps.count > 1 {
      disk.kill(device.apps.removeLast().process)
    } else if let first = device.apps.first {
      if let second = start(device) {
        handle(.launched, second, device)
      } else {
        // A power failure during the start has killed the first process too.
        _ = checkLife(first, device, .other)
      }
    }
  }

  /// Copies the disk of a device to a new device of the same person.
  private func copy(_ device: SimulatedDevice) {
    guard devices.count < 8, !device.apps.isEmpty, device.interrupted == .nothing else { return }
    let copy = SimulatedDevice(number: devices.count, user: device.user)
    disk.restore(disk.image(of: device.machine), on: copy.machine)
    copy.hasAccount = device.hasAccount
    copy.version = device.version
    copy.isFollowing = device.isFollowing
    copy.view = device.view
    devices.append(copy)
    oracle.copied(device: device.machine, to: copy.machine)
    timeline.add(.launch(copy), at: now + 1)
    timeline.add(.signIn(copy), at: now + 100)
  }

  /// Restores the disk of a device to an earlier state. The first call only saves the state.
  private func restore(_ device: SimulatedDevice) {
    guard let backup = device.backup else {
      guard !device.apps.isEmpty, device.interrupted == .nothing else { return }
      device.backup = .init(
        image: disk.image(of: device.machine), view: device.view,
        memory: oracle.backup(of: device.machine), isFollowing: device.isFollowing)
      return
    }
    end(device)
    disk.restore(backup.image, on: device.machine)
    (device.view, device.isFollowing) = (backup.view, backup.isFollowing)
    (device.backup, device.interrupted) = (nil, .nothing)
    oracle.restored(device: device.machine, to: backup.memory)
    timeline.add(.launch(device), at: now + 1)
  }

  private func follow(_ device: SimulatedDevice, _ isFollowed: Bool) {
    guard let app = device.apps.first else { return }
    do {
      try run(as: app.process) {
        try Following(database: app.database).follow(Schemas.publicZone, isFollowed)
      }
      guard checkLife(app, device, .other) else { return }
      device.isFollowing = isFollowed
      look(at: device)
      oracle.applied(device: device.machine, user: userID(of: device), view: device.view)
      handle(.edited, app, device)
    } catch {
      history.add("\(device.machine): not followed: \(error)", at: now)
      _ = checkLife(app, device, .other)
    }
  }

  /// Replaces the app, or the server's schema, by another version.
  func install(_ version: Schemas.Version, on machine: Command.Machine) {
    switch machine {
    case .server:
      server.version = version
      guard let process = server.process else { return }
      disk.kill(process)
      closeServerObserver()
      stopServer()
      timeline.add(.startServer, at: now + 500)
    case .device(let number):
      // A stopped app first starts in its old version, so that the check of its state is separate from the upgrade.
      guard let device = device(number), !device.apps.isEmpty else { return }
      device.version = version
      end(device)
      oracle.shows(columns(of: version), on: device.machine)
      device.interrupted = .other
      timeline.add(.launch(device), at: now + 10)
    }
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

  func tables(_ version: Schemas.Version) -> [String] { schema(version).tables.map(\.name) }

  /// The columns of a version's tables, by the model's names.
  func columns(of version: Schemas.Version) -> TextMap<TextSet> {
    schema(version).tables.reduce(into: [:]) {
      $0[$1.name] = TextSet($1.columns.map { Schemas.firstName(of: $0.name) })
    }
  }
}
