import HoldfastCore

/// What one of five devices does next. What it is done to is chosen by numbers, modulo what is there: so steps can be left out, and the rest
/// still means something.
struct ListStep: CustomStringConvertible {
  enum Kind: CaseIterable {
    case first, last, before, after, move, moveBlock, moveAway, delete, renew, sync
  }

  let device: Int
  let kind: Kind
  let choices: (Int, Int, Int)
  let nonce: UInt64

  /// A step of some kind.
  init(_ kind: Kind, _ random: inout SeededRandom, devices: Int) {
    self.kind = kind
    device = Int.random(in: 0..<devices, using: &random)
    choices = (Int(random.next() >> 33), Int(random.next() >> 33), Int(random.next() >> 33))
    nonce = random.next()
  }

  /// A step of a mixture that keeps lists of some dozens of records.
  init(_ random: inout SeededRandom, devices: Int) {
    let kind: Kind =
      switch Int.random(in: 0..<1000, using: &random) {
      case ..<40: .first
      case ..<80: .last
      case ..<120: .before
      case ..<200: .after
      case ..<380: .move
      case ..<480: .moveBlock
      case ..<580: .moveAway
      case ..<985: .delete
      case ..<986: .renew
      default: .sync
      }
    self.init(kind, &random, devices: devices)
  }

  var description: String { "device \(device): \(kind) \(choices)" }
}

/// Devices that edit two lists offline, and sync through a server that keeps the later value of each column.
struct ListSimulation {
  /// Makes positions; a test may give one that is wrong.
  typealias Maker = (_ count: Int, _ left: Position?, _ right: Position?, Position.Replica, UInt64) ->
    [Position]

  struct Item: Equatable {
    var list: Int
    var listStamp: Int
    var position: Position
    var positionStamp: Int
    var isDeleted = false
  }

  /// Records that were moved or made together.
  struct Block {
    let ids: [Int]
    /// Whether somebody else changed one of them, or put something between.
    var isTouched = false
  }

  struct Device {
    let replica: Position.Replica
    var items: [Int: Item] = [:]
    /// The ids as the person has put them, not sorted.
    var lists: [[Int]] = [[], []]
    var unsent: Set<Int> = []
    var pulled = 0
    var stamp: Int
  }

  private var devices: [Device]
  private let make: Maker
  private var server: [Int: Item] = [:]
  private var log: [Int] = []
  private var nextID = 0
  private var blocks: [Block] = []
  /// The block that a record was put with last.
  private var blockOf: [Int: Int] = [:]
  private(set) var failure: String?
  private(set) var longest = 0
  private(set) var syncs = 0

  /// How many blocks of several records nobody else had touched when all had heard of them, and that stand together.
  private(set) var wholeBlocks = 0
  /// Those of them that did not stay together: docs/POSITIONS.md, "Limits".
  private(set) var tornBlocks = 0
  var count: Int { devices[0].lists.joined().count }

  init(devices count: Int, seed: UInt64, make: @escaping Maker) {
    var random = SeededRandom(seed: seed)
    devices = (0..<count).map { Device(replica: .init(random: random.next()), stamp: $0) }
    self.make = make
  }

  /// Runs steps; all sync now and then, and at the end.
  ///
  /// - Returns: what is wrong; nil when all is well.
  mutating func run(_ steps: some Sequence<ListStep>) -> String? {
    for (number, step) in steps.enumerated() {
      take(step)
      if [99, 499, 999].contains(number % 1000) { settle() }
      if failure != nil { return failure }
    }
    settle()
    return failure
  }

  /// All sync, and all must be well.
  private mutating func settle() {
    for _ in 0..<2 { for device in devices.indices { sync(device) } }
    for device in devices.indices.dropFirst() where devices[device].lists != devices[0].lists {
      fail("device \(device) has another order than device 0")
    }
    let all = devices[0].lists.joined()
    if Set(all).count != all.count { fail("a record is there twice") }
    if Set(all) != Set(server.filter { !$0.value.isDeleted }.keys) { fail("a record is lost, or back") }
    countBlocks()
    blocks = []
    blockOf = [:]
  }

  // MARK: Steps

  private mutating func take(_ step: ListStep) {
    let device = step.device % devices.count
    let list = step.choices.0 % 2
    let count = devices[device].lists[list].count
    let chosen = count == 0 ? nil : step.choices.1 % count
    switch step.kind {
    case .sync: sync(device)
    case .first: create(device, list, at: 0, step)
    case .last: create(device, list, at: count, step)
    case .before: create(device, list, at: chosen ?? 0, step)
    case .after: create(device, list, at: chosen.map { $0 + 1 } ?? 0, step)
    case .move: move(device, from: list, chosen, 1, to: list, step)
    case .moveBlock: move(device, from: list, chosen, 2 + step.choices.2 % 5, to: list, step)
    case .moveAway: move(device, from: list, chosen, 1 + step.choices.2 % 3, to: 1 - list, step)
    case .delete:
      // About as many go as come; only from lists that have some.
      guard let chosen, count > 20 + step.choices.2 % 60 else { return }
      let id = devices[device].lists[list].remove(at: chosen)
      edit(id, device) { $0.isDeleted = true }
      touch(id)
    case .renew: renew(device, list, step)
    }
  }

  private mutating func create(_ device: Int, _ list: Int, at place: Int, _ step: ListStep) {
    nextID += 1
    put([nextID], device, list, at: place, step)
  }

  private mutating func move(
    _ device: Int, from list: Int, _ chosen: Int?, _ size: Int, to target: Int, _ step: ListStep
  ) {
    guard let chosen else { return }
    let end = min(chosen + size, devices[device].lists[list].count)
    let ids = Array(devices[device].lists[list][chosen..<end])
    devices[device].lists[list].removeSubrange(chosen..<end)
    put(ids, device, target, at: step.choices.2 % (devices[device].lists[target].count + 1), step)
  }

  private mutating func renew(_ device: Int, _ list: Int, _ step: ListStep) {
    let ids = devices[device].lists[list]
    let run = make(ids.count, nil, nil, devices[device].replica, step.nonce)
    for (id, position) in zip(ids, run) {
      edit(id, device) { ($0.position, $0.positionStamp) = (position, $1) }
      touch(id)
    }
  }

  /// Puts a block between two neighbours: the true ones, or, where some have the same position, beside all of these.
  private mutating func put(_ ids: [Int], _ device: Int, _ list: Int, at wanted: Int, _ step: ListStep) {
    let order = devices[device].lists[list]
    func position(_ index: Int) -> Position? {
      order.indices.contains(index) ? devices[device].items[order[index]]?.position : nil
    }
    var place = wanted
    while place > 0, place < order.count, position(place - 1) == position(place) { place += 1 }
    let (left, right) = (position(place - 1), position(place))
    let run = make(ids.count, left, right, devices[device].replica, step.nonce)
    let chain = [left].compactMap { $0 } + run + [right].compactMap { $0 }
    if run.count != ids.count || !zip(chain, chain.dropFirst()).allSatisfy({ $0.string < $1.string }) {
      fail("a place is not between its neighbours: \(chain)")
    }
    if place > 0, place < order.count, let block = blockOf[order[place - 1]], block == blockOf[order[place]] {
      blocks[block].isTouched = true
    }
    let block = blocks.count
    blocks.append(Block(ids: ids))
    for (id, position) in zip(ids, run) {
      touch(id)
      blockOf[id] = block
      longest = max(longest, position.string.utf8.count)
      edit(id, device) { item, stamp in
        (item.position, item.positionStamp) = (position, stamp)
        if item.list != list { (item.list, item.listStamp) = (list, stamp) }
      }
      // Somebody has changed it whom this device has not heard.
      let isKnown = server[id].map { known in
        log[devices[device].pulled...].contains(id) ? false : !known.isDeleted
      }
      if isKnown == false
        || devices.indices.contains(where: { $0 != device && devices[$0].unsent.contains(id) })
      {
        blocks[block].isTouched = true
      }
    }
    devices[device].lists[list].insert(contentsOf: ids, at: place)
  }

  private mutating func touch(_ id: Int) {
    if let block = blockOf[id] { blocks[block].isTouched = true }
  }

  private mutating func edit(_ id: Int, _ device: Int, _ change: (inout Item, Int) -> Void) {
    devices[device].stamp += devices.count
    let stamp = devices[device].stamp
    var item =
      devices[device].items[id] ?? Item(list: -1, listStamp: 0, position: Self.none, positionStamp: 0)
    change(&item, stamp)
    devices[device].items[id] = item
    devices[device].unsent.insert(id)
  }

  private mutating func edit(_ id: Int, _ device: Int, _ change: (inout Item) -> Void) {
    edit(id, device) { item, _ in change(&item) }
  }

  private static let none = Position.between(nil, nil, replica: .init(random: 0), nonce: 0)

  // MARK: Sync

  private mutating func sync(_ device: Int) {
    syncs += 1
    for id in devices[device].unsent {
      guard let mine = devices[device].items[id] else { continue }
      var item = server[id] ?? mine
      if mine.listStamp > item.listStamp { (item.list, item.listStamp) = (mine.list, mine.listStamp) }
      if mine.positionStamp > item.positionStamp {
        (item.position, item.positionStamp) = (mine.position, mine.positionStamp)
      }
      item.isDeleted = item.isDeleted || mine.isDeleted
      server[id] = item
      log.append(id)
    }
    devices[device].unsent = []
    if devices[device].lists != sorted(device) {
      fail("the order that the person sees is not that of the positions")
    }
    var latest = devices[device].stamp
    for id in Set(log[devices[device].pulled...]) {
      guard let item = server[id] else { continue }
      devices[device].items[id] = item.isDeleted ? nil : item
      latest = max(latest, item.positionStamp, item.listStamp)
    }
    while devices[device].stamp < latest { devices[device].stamp += devices.count }
    devices[device].pulled = log.count
    devices[device].lists = sorted(device)
  }

  /// The lists as SQL sorts them: by position and id.
  private func sorted(_ device: Int) -> [[Int]] {
    (0..<2).map { list in
      devices[device].items.filter { $0.value.list == list && !$0.value.isDeleted }
        .map { ($0.value.position.string, $0.key) }.sorted { $0 < $1 }.map(\.1)
    }
  }

  private mutating func countBlocks() {
    let order = devices[0].lists
    for block in blocks where !block.isTouched && block.ids.count > 1 {
      let isWhole = order.contains { list in
        list.firstIndex(of: block.ids[0]).map { list[$0...].prefix(block.ids.count).elementsEqual(block.ids) }
          ?? false
      }
      if isWhole { wholeBlocks += 1 } else { tornBlocks += 1 }
    }
  }

  private mutating func fail(_ text: String) { failure = failure ?? text }
}

extension ListSimulation {
  /// Leaves out steps as long as it still fails: first many at once, then one by one; so often that it takes a while and no more.
  static func shrink(_ steps: [ListStep], fails: ([ListStep]) -> Bool) -> [ListStep] {
    // How many steps may still be tried.
    var budget = 200_000
    var (steps, size) = (steps, max(steps.count / 2, 1))
    while true {
      var start = 0
      var hasShrunk = false
      while start < steps.count {
        budget -= steps.count
        if budget < 0 { return steps }
        let fewer = Array(steps[..<start] + steps[min(start + size, steps.count)...])
        if fails(fewer) {
          steps = fewer
          hasShrunk = true
        } else {
          start += size
        }
      }
      if size == 1, !hasShrunk { return steps }
      size = max(size / 2, 1)
    }
  }
}
