import Holdfast

extension World {
  /// Ends all troubles, lets everybody sync until nothing moves, and demands what must hold then.
  func heal() {
    history.add("# heal", at: now)
    isHealing = true
    weather = .calm
    armed = [:]
    full = []
    pass(60_000)
    // An app and a server of different versions agree only on what both know.
    if server.version != .first || devices.contains(where: { $0.version != .first }) {
      let version = devices.contains { $0.version == .larger } ? .larger : server.version
      install(version, on: .server)
      for device in devices { install(version, on: .device(device.number)) }
    }
    for device in devices {
      device.wantsSession = true
      while device.apps.count > 1 { disk.kill(device.apps.removeLast().process) }
      timeline.add(.signIn(device), at: now + 5000)
    }
    // Whatever was under way arrives, what died comes back, who was out signs in; and all is sent without being asked for.
    pass(700_000)
    for device in devices where !device.view.outbox.isEmpty {
      oracle.report("I7", "\(device.machine): the network is back, but nothing wakes the outbox")
    }
    passWaits()
    passHolds(sync: sync)
    let sent = devices.map(\.view.tables)
    var quiet = 0
    for _ in 0..<60 where quiet < 3 {
      let before = devices.map(\.view.tables)
      for device in devices { sync(device) }
      guard oracle.violations.isEmpty else { return }
      if before == sent { demandStillness(before) }
      quiet =
        before == devices.map(\.view.tables) && devices.allSatisfy(\.view.outbox.isEmpty) ? quiet + 1 : 0
    }
    if quiet < 3 { oracle.report("I7", "the devices do not come to rest: \(waiting)") }
    if oracle.violations.isEmpty { demandPurged(sync: sync) }
    for device in devices { look(at: device) }
    lookAtServer()
    _ = oracle.finish(
      devices: devices.map {
        FinalDevice(
          device: $0.machine, user: userID(of: $0), follows: $0.isFollowing ? [Schemas.publicZone] : [],
          view: $0.view)
      }, server: server.view,
      soundness: devices.map { Soundness(place: $0.machine, faults: soundness(of: $0)) }
        + [Soundness(place: "server", faults: serverSoundness())])
  }

  /// With streams, a sync by hand after so long a calm finds nothing that the device was not told of; its next poll would be minutes away.
  private func demandStillness(_ before: [Tables]) {
    guard plan.hasStreams else { return }
    for (device, tables) in zip(devices, before) where device.view.tables != tables {
      // To the server a copy with the same identity is who did it.
      if oracle.devices[device.machine]?.isCopied == true { continue }
      oracle.report("I7", "\(device.machine): nobody told it what has moved")
    }
  }

  private var waiting: String {
    devices.map { "\($0.machine): \($0.view.outbox.count) change sets wait" }.joined(separator: ", ")
  }

  /// One sync by hand, to its end.
  private func sync(_ device: SimulatedDevice) {
    guard let app = device.apps.first else { return pass(5000) }
    let waiter = messages + 1_000_000
    handle(.syncNow, waiter: waiter, app, device)
    for _ in 0..<10_000 where app.finished[waiter] == nil && timeline.nextTime != nil && isRunning(app) {
      guard oracle.violations.isEmpty else { return }
      happen()
    }
  }
}
