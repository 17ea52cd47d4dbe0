import Testing

@testable import HoldfastSimulation

@Suite("SQLite over the simulated disk, with a fault at every step")
struct FaultAtEveryStepTests {
  /// How many steps the workload takes when nothing goes wrong.
  private func stepCount(_ disk: SimulatedDisk, _ fileSystem: String) throws -> Int {
    disk.reset()
    var workload = Workload(disk, fileSystem)
    try workload.run()
    let steps = disk.steps
    try workload.check("without a fault")
    return steps
  }

  /// Lets one step of a fresh run go wrong. The run may fail or, where SQLite gets round the fault, not.
  private func run(_ disk: SimulatedDisk, _ fileSystem: String, _ fault: SimulatedDisk.Fault, at step: Int)
    -> Workload
  {
    disk.reset()
    disk.fault = { [unowned disk] _ in disk.steps == step ? fault : .none }
    var workload = Workload(disk, fileSystem)
    try? workload.run()
    return workload
  }

  @Test("a process killed at any step leaves every committed transaction whole and none by half (I2, I6)")
  func kill() throws {
    try withDisk { disk, fileSystem in
      for step in 1...(try stepCount(disk, fileSystem)) {
        try run(disk, fileSystem, .kill, at: step).check("killed at \(step)")
      }
    }
  }

  @Test("a loss of power at any step loses no committed transaction and leaves none by half (I2, I6)")
  func crash() throws {
    try withDisk { disk, fileSystem in
      let steps = try stepCount(disk, fileSystem)
      for step in 1...steps {
        for choice in 0..<2 {
          try run(disk, fileSystem, .crash, at: step).check("no power at \(step), choice \(choice)")
        }
      }
    }
  }

  @Test("after a loss of power the rest can be written, and outlasts the next loss (I2)")
  func goOn() throws {
    try withDisk { disk, fileSystem in
      for step in stride(from: 1, through: try stepCount(disk, fileSystem), by: 2) {
        var workload = run(disk, fileSystem, .crash, at: step)
        disk.running = disk.start(on: "device")
        try workload.finish()
        disk.crash(machine: "device")
        try workload.check("no power at \(step) and at the end")
      }
    }
  }

  @Test(
    "an I/O error or a full disk at any step leaves a sound database, whose process can go on (I2, I6)",
    arguments: [SimulatedDisk.Fault.ioError, .full])
  func failure(_ fault: SimulatedDisk.Fault) throws {
    try withDisk(name: "failure \(fault)") { disk, fileSystem in
      for step in 1...(try stepCount(disk, fileSystem)) {
        var workload = run(disk, fileSystem, fault, at: step)
        try workload.finish()
        disk.crash(machine: "device")
        try workload.check("\(fault) at \(step)")
      }
    }
  }

  @Test("a disk that stays full or broken from any step on keeps what was committed (I2, I6)")
  func lastingFailure() throws {
    try withDisk { disk, fileSystem in
      for step in stride(from: 1, through: try stepCount(disk, fileSystem), by: 3) {
        for fault in [SimulatedDisk.Fault.ioError, .full] {
          disk.reset()
          disk.fault = { [unowned disk] _ in disk.steps >= step ? fault : .none }
          var workload = Workload(disk, fileSystem)
          try? workload.run()
          disk.crash(machine: "device")
          try workload.check("\(fault) from \(step) on")
        }
      }
    }
  }
}
