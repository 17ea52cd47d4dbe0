import Foundation
import Holdfast

/// The devices and the people who have them.
final class Crew: Sendable {
  let devices: [Device]
  let journal = Journal()
  let listCount: Int
  private let options: Options

  /// Signs everybody up, makes the lists, and shares them.
  init(_ options: Options) async throws {
    self.options = options
    guard let server = URL(string: options.server) else { throw UsageError(description: Options.usage) }
    let schema = try SyncSchema(json: Array(Data(contentsOf: URL(fileURLWithPath: options.schema))))
    let folder = URL(fileURLWithPath: options.folder)
    let devices = try (0..<options.devices).map { number in
      try Device(
        "device\(number)", of: "person\(number % options.users)", schema: schema, in: folder, server: server)
    }
    self.devices = devices
    listCount = options.users
    let people = min(options.users, devices.count)
    try await forEach(devices[..<people]) { device in
      try await device.engine.signUp(name: device.user, password: "correct horse", device: device.name)
    }
    try await forEach(devices[people...]) { device in
      let number = devices.firstIndex { $0 === device } ?? 0
      device.transport.borrow(try devices[number % people].token())
      try await device.engine.signIn(name: device.user, password: "correct horse", device: device.name)
    }
    var random = SeededRandom(seed: options.seed)
    for device in devices[..<people] {
      let others = Set((0..<3).map { _ in "person\(Int(random.next() % UInt64(people)))" }).subtracting([
        device.user
      ])
      try await device.store.write { db in
        let list = db.newID()
        try db.execute(
          "INSERT INTO lists (id, title) VALUES (?, ?)", [.text(list), .text("\(device.user)'s")])
        for name in others.sorted() {
          try db.execute(
            "INSERT INTO members (zone, name, role) VALUES (?, ?, 'editor')", [.text(list), .text(name)])
        }
      }
    }
    try await forEach(devices[..<people]) { try await $0.engine.sync() }
    try await forEach(devices[..<people]) { device in
      for membership in try await device.engine.pendingMemberships() {
        _ = try await device.engine.accept(membership: membership.id)
      }
    }
  }

  /// Lets everybody edit while `body` runs; the engines go on afterwards, until the process ends.
  func work(while body: () async -> Void) async {
    for device in devices { Task { await device.engine.run() } }
    let edits = devices.enumerated().map { number, device in
      Task { [options, journal] in
        let seed = options.seed &* 1_000_003 &+ UInt64(number)
        await device.edit(seed: seed, pause: options.pause, journal: journal)
      }
    }
    await body()
    for edit in edits { edit.cancel() }
    for edit in edits { await edit.value }
  }

  /// Waits until nothing waits any more and all devices hold the same; then what is left is synced by hand.
  ///
  /// - Returns: how far it came by itself, in words.
  func settle(_ comparison: Comparison) async throws -> String {
    let start = ContinuousClock.now
    // Whoever was told to wait, by a server that is back, need not wait for longer.
    for device in devices { await device.engine.networkIsReachable() }
    var late = devices
    while !late.isEmpty, ContinuousClock.now - start < .seconds(options.patience) {
      try await StoreEnvironment.system.sleep(.milliseconds(500))
      var waiting: [Device] = []
      for device in devices where try await device.store.waitingOperations() > 0 { waiting.append(device) }
      late = try waiting.isEmpty ? comparison.behind() : waiting
    }
    let wait = ContinuousClock.now - start
    for _ in 0..<2 where !late.isEmpty { try await forEach(late[...]) { try await $0.engine.sync() } }
    return "settled: \(devices.count - late.count) of \(devices.count) devices by themselves, in "
      + wait.formatted(.units(allowed: [.seconds], width: .narrow))
  }

  /// What the devices saw since `watch`.
  func report() -> String {
    let traffic = devices.map(\.transport.seen)
    let failures = traffic.reduce(0) { $0 + $1.failures }
    let touched = traffic.count { $0.failures > 0 }
    let first = traffic.compactMap(\.first).first.map { ", the first: \($0)" } ?? ""
    return
      "report: \(journal.count) edits made; \(traffic.reduce(0) { $0 + $1.requests }) requests, "
      + "\(failures) failed on \(touched) devices\(first)"
  }
}

/// Does something for some devices, eight at a time.
func forEach<Device: Sendable>(
  _ devices: ArraySlice<Device>, _ body: @escaping @Sendable (Device) async throws -> Void
) async throws {
  try await withThrowingTaskGroup(of: Void.self) { group in
    for (index, device) in devices.enumerated() {
      if index >= 8 { try await group.next() }
      group.addTask { try await body(device) }
    }
    try await group.waitForAll()
  }
}
