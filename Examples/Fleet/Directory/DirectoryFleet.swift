import Foundation
import Holdfast

/// Devices with folders, whose people have their homes in several databases of one directory, and share lists across them.
struct DirectoryFleet {
  private let options: Options
  private let devices: [FolderDevice]
  private let people: [String]
  private let tokens = Tokens()

  static func run(_ options: Options) async throws -> Bool {
    let fleet = try await DirectoryFleet(options)
    say(
      "ready: \(fleet.devices.count) devices of \(options.users) people, homes in \(options.places.count) databases"
    )
    try await fleet.work()
    return try await fleet.settle()
  }

  /// Signs everybody up, makes the lists, and shares them.
  private init(_ options: Options) async throws {
    self.options = options
    let schema = try SyncSchema(json: Array(Data(contentsOf: URL(fileURLWithPath: options.schema))))
    let folder = URL(fileURLWithPath: options.folder)
    people = (0..<options.users).map { "person\($0)" }
    devices = try (0..<options.devices).map { number in
      let person = number % options.users
      return try FolderDevice(
        "device\(number)", of: "person\(person)", home: options.places[person % options.places.count],
        schema: schema, in: folder)
    }
    let firsts = devices.prefix(options.users)
    try await forEach(firsts) { device in
      try await device.engine.signUp(name: device.user, password: "correct horse", device: device.name)
    }
    try await forEach(devices.dropFirst(options.users)) { device in
      try await device.engine.signIn(name: device.user, password: "correct horse", device: device.name)
    }
    var random = SeededRandom(seed: options.seed)
    for device in firsts {
      let others = Set((0..<3).map { _ in people[Int(random.next() % UInt64(people.count))] })
      await device.makeList(
        0, "\(device.name).0", with: others.subtracting([device.user]).sorted(), tokens)
    }
    try await forEach(firsts) { _ = try await $0.engine.sync() }
    try await forEach(devices[...]) { device in
      await device.accept()
      _ = try await device.engine.sync()
    }
  }

  /// Lets everybody edit, while whoever started this does what he likes, until he says `rest`.
  private func work() async throws {
    let runs = devices.map { device in Task { await device.engine.run() } }
    let edits = devices.enumerated().map { number, device in
      Task { [options, people, tokens] in
        await device.edit(
          seed: options.seed &* 1_000_003 &+ UInt64(number), pause: options.pause, people: people,
          tokens: tokens)
      }
    }
    var before: (place: String, confirmed: Int64)?
    while let command = readLine() {
      let words = command.split(separator: " ").map(String.init)
      if command == "rest" { break }
      if words.first == "watch", words.count == 2 {
        before = (words[1], try confirmed(butIn: words[1]))
        say("watching")
      } else if command == "report", let known = before {
        say("report: \(try confirmed(butIn: known.place) - known.confirmed)")
      } else {
        say("unknown: \(command)")
      }
    }
    for task in edits { task.cancel() }
    for task in edits { await task.value }
    try await watch()
    for task in runs { task.cancel() }
    for task in runs { await task.value }
  }

  /// Waits until all agree by themselves, or for as long as they may take.
  private func watch() async throws {
    let start = ContinuousClock.now
    for device in devices { await device.engine.networkIsReachable() }
    let verdict = Verdict(places: options.places, devices: devices, tokens: tokens.state)
    var late = try verdict.behind()
    while !late.isEmpty, ContinuousClock.now - start < .seconds(options.patience) {
      try await StoreEnvironment.system.sleep(.seconds(1))
      late = try verdict.behind()
    }
    say(
      "settled: all but \(late.count) files by themselves, in \((ContinuousClock.now - start).components.seconds) s"
    )
  }

  /// How many operations the servers of all databases but one have confirmed.
  private func confirmed(butIn broken: String) throws -> Int64 {
    try options.places.filter { $0.name != broken }.reduce(0) { sum, place in
      try devices.reduce(sum) { try $0 + $1.confirmed(in: place.name) }
    }
  }

  /// Syncs all devices until nothing is new, and checks everything.
  private func settle() async throws -> Bool {
    let verdict = Verdict(places: options.places, devices: devices, tokens: tokens.state)
    let start = ContinuousClock.now
    var rounds = 0
    // A zone that a device has downloaded several times in a few minutes waits for a minute or more before the next time.
    while true {
      rounds += 1
      try await forEach(devices[...]) { device in
        await device.accept()
        _ = try await device.engine.sync()
      }
      if try verdict.behind().isEmpty || ContinuousClock.now - start > .seconds(240) { break }
      try await StoreEnvironment.system.sleep(.seconds(2))
    }
    say("synced by hand: \(rounds) times, until \((ContinuousClock.now - start).components.seconds) s later")
    let wrong = try verdict.run { say($0) }
    say("done: \(wrong == 0 ? "all agree" : "\(wrong) checks went wrong"); \(verdict.summary)")
    return wrong == 0
  }
}
