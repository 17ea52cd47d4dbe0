import HoldfastServer

/// Everything that happens in one run, decided by a seed.
struct Plan {
  let seed: UInt64
  /// For each device, the number of its user.
  let users: [Int]
  /// The size in bytes at which an answer is full.
  let answerSize: Int
  /// The number of change sets of a request after which the server lets others go first.
  let changeSetBudget: Int
  /// The amount of work of a deletion after which the server lets others go first: 40 for each cascaded record.
  let pieceWork: Int
  /// The maximum size of a request's body.
  let bodyLimit: Int
  /// The number of pages in a device's write-ahead log that triggers a checkpoint.
  let longLog: Int
  /// Whether nothing is shared, moved or deleted. Nothing may be refused then.
  let isPeaceful: Bool
  /// Whether devices have event streams.
  let hasStreams: Bool
  /// Whether people also use REST clients.
  let hasClerks: Bool
  /// The server's retention times; nil if it purges nothing.
  var retention: Retention?
  var commands: [Command]
  /// The number of commands before some were left out.
  let steps: Int
  /// Whether the server may be restored from a backup, and a column is renamed in the next version of the app.
  let isWide: Bool
  /// The real database of the server instead of a simulated disk; nil for none.
  var postgres: RealPostgres?

  init(seed: UInt64, steps: Int, isWide: Bool = false) {
    (self.steps, self.isWide) = (steps, isWide)
    var chance = Chance(seed: seed)
    self.seed = seed
    let people = 1 + chance.below(3)
    // The first devices belong to one person each.
    users = (0..<(people + chance.below(3))).map { $0 < people ? $0 : chance.below(people) }
    answerSize = chance.pick([4 << 20, 4000, 1500, 600]) ?? 4 << 20
    bodyLimit = chance.one(in: 8) ? 4000 : 16 << 20
    longLog = chance.one(in: 2) ? 1000 : 10 + chance.below(60)
    isPeaceful = chance.one(in: 8)
    var ofBudget = Chance(seed: seed, 7)
    changeSetBudget = ofBudget.pick([.max, .max, 3, 1]) ?? .max
    pieceWork = ofBudget.pick([100_000, 1, 80]) ?? 100_000
    var ofStreams = Chance(seed: seed, 3)
    hasStreams = !ofStreams.one(in: 4)
    var ofClerks = Chance(seed: seed, 4)
    hasClerks = ofClerks.one(in: 3)
    var ofRetention = Chance(seed: seed, 5)
    if ofRetention.one(in: 2) {
      retention = Retention(
        tombstones: .seconds(ofRetention.pick([0, 10, 600]) ?? 0),
        devices: .seconds(ofRetention.pick([60, 172_800, 172_800]) ?? 172_800),
        conflicts: .seconds(ofRetention.pick([60, 3600, 90 * 86_400]) ?? 3600))
    }
    let mood = Mood(&chance)
    let devices = users.count
    commands = (0..<steps).map { index in
      Command(index: index, seed: chance.next(), action: mood.action(&chance, devices: devices))
    }
    var ofRestores = Chance(seed: seed, 6)
    if isWide, !hasClerks, ofRestores.one(in: 4) { planRestores(&ofRestores) }
  }

  /// Replaces some commands by backups and restores of the server.
  private mutating func planRestores(_ chance: inout Chance) {
    var place = 0
    repeat {
      place += chance.below(commands.count)
      for action in [Command.Action.backUpServer, .restoreServer] where commands.indices.contains(place) {
        commands[place] = Command(index: place, seed: commands[place].seed, action: action)
        place += 1 + chance.below(60)
      }
    } while chance.one(in: 2) && place < commands.count
  }
}

/// The frequencies of events in one run.
private struct Mood {
  private let editing: Int
  private let storms: Int
  private let troubles: Int
  private let clocks: Int
  private let sessions: Int
  private let copies: Int

  init(_ chance: inout Chance) {
    editing = 20 + chance.below(40)
    storms = chance.below(8)
    troubles = chance.one(in: 4) ? 0 : chance.below(14)
    clocks = chance.one(in: 2) ? 0 : chance.below(4)
    sessions = chance.one(in: 2) ? 0 : chance.below(4)
    copies = chance.one(in: 2) ? 2 : 0
  }

  func action(_ chance: inout Chance, devices: Int) -> Command.Action {
    let device = chance.below(devices)
    let machine: Command.Machine = chance.one(in: 3) ? .server : .device(device)
    var dice = chance.below(editing + 40 + storms + troubles + clocks + sessions + copies)
    func falls(_ share: Int) -> Bool {
      dice -= share
      return dice < 0
    }
    if falls(editing) { return .write(device: device) }
    if falls(22) { return .sync(device: device) }
    if falls(18) { return .pass(pause(&chance)) }
    if falls(storms) { return .weather(Self.weather(&chance)) }
    if falls(troubles) {
      if chance.one(in: 6) { return .room(machine) }
      let trouble = chance.pick(Command.Trouble.allCases) ?? .kill
      return .trouble(trouble, machine, afterSteps: chance.below(chance.one(in: 2) ? 12 : 150))
    }
    if falls(clocks) { return .clock(machine, by: Self.jump(&chance)) }
    if falls(sessions) {
      switch chance.below(4) {
      case 0: return .signOut(device: device, removingData: chance.one(in: 2))
      case 1: return .secondProcess(device: device)
      case 2: return .upgrade(machine)
      default: return .follow(device: device, chance.one(in: 2))
      }
    }
    return chance.one(in: 2) ? .copy(device: device) : .restore(device: device)
  }

  private func pause(_ chance: inout Chance) -> Int64 {
    chance.one(in: 12) ? chance.number(in: 60_000...3_600_000) : chance.number(in: 1...2000)
  }

  private static func weather(_ chance: inout Chance) -> Weather {
    if chance.one(in: 3) { return .calm }
    func rate(_ chance: inout Chance) -> Int { chance.one(in: 2) ? 0 : 2 + chance.below(8) }
    return Weather(
      lostRequest: rate(&chance), lostAnswer: rate(&chance), doubled: rate(&chance), cut: rate(&chance),
      silent: rate(&chance), delay: chance.one(in: 4) ? 5...40_000 : 5...800)
  }

  /// From a millisecond to ten years, forward or back.
  private static func jump(_ chance: inout Chance) -> Int64 {
    let second: Int64 = 1000
    let most = chance.pick([second, 3600 * second, 86400 * second, 3650 * 86400 * second]) ?? second
    let by = chance.number(in: 1...most)
    return chance.one(in: 2) ? by : -by
  }
}
