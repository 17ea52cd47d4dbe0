import CSQLite
import Testing

@testable import HoldfastSimulation

@Suite("Plain files of the simulated disk")
struct PlainFileTests {
  private static let path = "/device/app.db-pages/1"
  private let old = [UInt8](repeating: 1, count: 2000)
  private let new = [UInt8](repeating: 2, count: 3000)

  @Test("a written file outlasts a loss of power (I2)")
  func durable() throws {
    try withDisk { disk, _ in
      for _ in 0..<20 {
        disk.reset()
        disk.running = disk.start(on: "device")
        try disk.write(Self.path, new)
        disk.crash(machine: "device")
        disk.running = disk.start(on: "device")
        #expect(disk.read(Self.path) == new)
        #expect(disk.list("/device/app.db-pages") == ["1"])
        #expect(disk.list("/device") == [])
      }
    }
  }

  @Test("power lost before a file is synced: nothing, or any of its sectors, with zeros for the others")
  func torn() {
    withDisk { disk, _ in
      var outcomes: Set<[UInt8]?> = []
      for _ in 0..<200 {
        disk.reset()
        disk.running = disk.start(on: "device")
        disk.fault = { $0.kind == .sync ? .crash : .none }
        #expect(throws: SimulatedDiskError(code: SQLITE_IOERR)) { try disk.write(Self.path, new) }
        disk.fault = nil
        disk.running = disk.start(on: "device")
        let left = disk.read(Self.path)
        outcomes.insert(left)
        for sector in stride(from: 0, to: left?.count ?? 0, by: 512) {
          let bytes = left.map { Set($0[sector..<min(sector + 512, $0.count)]) }
          #expect(bytes == [0] || bytes == [2])
        }
      }
      #expect(outcomes.isSuperset(of: [nil, [], new]) && outcomes.count > 10)
    }
  }

  @Test("power lost while a file is replaced: the name stays, its bytes are old, new, none or mixed")
  func replaced() throws {
    try withDisk { disk, _ in
      var outcomes: Set<[UInt8]?> = []
      for _ in 0..<200 {
        disk.reset()
        disk.running = disk.start(on: "device")
        try disk.write(Self.path, old)
        disk.fault = { $0.kind == .sync ? .crash : .none }
        #expect(throws: SimulatedDiskError.self) { try disk.write(Self.path, new) }
        disk.fault = nil
        disk.running = disk.start(on: "device")
        outcomes.insert(disk.read(Self.path))
      }
      #expect(!outcomes.contains(nil))
      #expect(outcomes.isSuperset(of: [old, new, []]) && outcomes.count > 10)
    }
  }

  @Test("a deletion may be undone until a later sync in its folder writes a name or a size")
  func deletion() throws {
    try withDisk { disk, _ in
      func survivors(_ afterwards: () throws -> Void) throws -> Int {
        var count = 0
        for _ in 0..<40 {
          disk.reset()
          disk.running = disk.start(on: "device")
          try disk.write(Self.path, old)
          try disk.delete(Self.path)
          try afterwards()
          #expect(!disk.exists(Self.path))
          disk.crash(machine: "device")
          disk.running = disk.start(on: "device")
          if disk.read(Self.path) == old { count += 1 }
        }
        return count
      }
      let alone = try survivors {}
      #expect(alone > 0 && alone < 40)
      let afterNewName = try survivors { try disk.write(Self.path + "0", old) }
      #expect(afterNewName == 0)
      let afterNameElsewhere = try survivors { try disk.write("/device/elsewhere", old) }
      #expect(afterNameElsewhere > 0)
    }
  }

  @Test("an error says what it is, and the process lives; a full disk still deletes")
  func errors() throws {
    try withDisk { disk, _ in
      let process = disk.start(on: "device")
      disk.running = process
      try disk.write(Self.path, old)
      disk.fault = { $0.kind == .write ? .full : .none }
      #expect(throws: SimulatedDiskError(code: SQLITE_FULL)) { try disk.write(Self.path, new) }
      disk.fault = { _ in .full }
      try disk.delete(Self.path)
      disk.fault = { _ in .ioError }
      #expect(throws: SimulatedDiskError.self) { try disk.delete(Self.path) }
      #expect(disk.isAlive(process))
      disk.fault = { _ in .kill }
      #expect(throws: SimulatedDiskError.self) { try disk.write(Self.path, new) }
      #expect(!disk.isAlive(process))
    }
  }

  @Test("a machine's image restores it, or makes another one, and later writes touch neither")
  func image() throws {
    try withDisk { disk, _ in
      let process = disk.start(on: "device")
      disk.running = process
      try disk.write(Self.path, old)
      let image = disk.image(of: "device")
      try disk.write(Self.path, new)
      try disk.write("/device/later", new)
      disk.restore(image, on: "clone")
      #expect(disk.isAlive(process))
      disk.restore(image, on: "device")
      #expect(!disk.isAlive(process))
      for machine in ["device", "clone"] {
        disk.crash(machine: machine)
        disk.running = disk.start(on: machine)
        #expect(disk.read("/\(machine)/app.db-pages/1") == old)
        #expect(disk.list("/\(machine)") == [])
        #expect(disk.image(of: machine) == image)
      }
    }
  }
}
