import HoldfastCore
import Testing

@Suite("Lists edited offline")
struct PositionConvergenceTests {
  /// One record's place, or nil once deleted; the latest stamp wins.
  struct Edit {
    let id: Int
    let position: Position?
    let stamp: Int
  }

  /// A device with its own copy of one list, kept in the order the person put it in, not by sorting.
  struct Device {
    let replica: Position.Replica
    var edits: [Int: Edit] = [:]
    var order: [Int] = []
    var unsent: [Edit] = []
    var pulled = 0
    var stamp: Int

    /// A list sorted the way SQL does: ORDER BY position, id.
    var sorted: [Int] {
      edits.values.compactMap { edit in edit.position.map { ($0.string, edit.id) } }.sorted { $0 < $1 }.map(
        \.1)
    }

    mutating func put(_ id: Int, at place: Int, _ random: inout SeededRandom) {
      let left = place > 0 ? edits[order[place - 1]]?.position : nil
      let right = place < order.count ? edits[order[place]]?.position : nil
      let position = Position.between(left, right, replica: replica, nonce: random.next())
      if let left, let right, left >= right {
        #expect(position > left)
      } else {
        #expect(left.map { $0 < position } ?? true)
        #expect(right.map { position < $0 } ?? true)
      }
      order.insert(id, at: place)
      write(id, position)
    }

    mutating func write(_ id: Int, _ position: Position?) {
      stamp += 5
      let edit = Edit(id: id, position: position, stamp: stamp)
      edits[id] = edit
      unsent.append(edit)
    }

    mutating func sync(_ log: inout [Edit]) {
      #expect(order == sorted, "the order the person sees is the order of the positions")
      log += unsent
      unsent = []
      for edit in log[pulled...] where edit.stamp > edits[edit.id]?.stamp ?? -1 { edits[edit.id] = edit }
      let latest = log[pulled...].map(\.stamp).max() ?? 0
      while stamp < latest { stamp += 5 }
      pulled = log.count
      order = sorted
    }
  }

  /// I7.
  @Test(
    "five devices that insert, move and delete offline agree in the end",
    arguments: [51, 52, 53, 54] as [UInt64])
  func converge(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var log: [Edit] = []
    var devices = (0..<5).map { Device(replica: .init(random: random.next()), stamp: $0) }
    var nextID = 0
    for step in 0..<25_000 {
      let index = Int.random(in: 0..<5, using: &random)
      let count = devices[index].order.count
      switch Int.random(in: 0..<100, using: &random) {
      case 0 where step > 100:
        devices[index].sync(&log)
      case ..<45 where count < 400 || step.isMultiple(of: 3):
        nextID += 1
        let places = [0, count, count / 2, Int.random(in: 0...count, using: &random)]
        devices[index].put(nextID, at: places.randomElement(using: &random) ?? 0, &random)
      case ..<70 where count > 1:
        let id = devices[index].order.remove(at: Int.random(in: 0..<count, using: &random))
        devices[index].put(id, at: Int.random(in: 0..<count, using: &random), &random)
      case _ where count > 0:
        let id = devices[index].order.remove(at: Int.random(in: 0..<count, using: &random))
        devices[index].write(id, nil)
      default: break
      }
    }
    for _ in 0..<2 { for index in devices.indices { devices[index].sync(&log) } }
    for device in devices.dropFirst() { #expect(device.order == devices[0].order, "seed \(seed)") }
    let positions = devices[0].order.compactMap { devices[0].edits[$0]?.position }
    #expect(positions.count > 100 && Set(positions).count == positions.count, "no two records tie")
    print(
      "positions: five devices, \(positions.count) records: longest \(positions.map(\.string.utf8.count).max() ?? 0)"
    )
  }
}
