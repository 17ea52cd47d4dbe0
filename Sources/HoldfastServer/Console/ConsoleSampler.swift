import HoldfastConcurrency
import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// The thread that takes the samples of the console's charts, and has the writer store them: docs/CONSOLE.md, section 5.
///
/// @unchecked Sendable: `lag` and `rolled` are used by the thread alone.
final class ConsoleSampler: @unchecked Sendable {
  private static let interval = Duration.seconds(10)
  /// The time limit of a look at the devices' lag.
  private static let lagLimit = Duration.seconds(5)

  private let thread = BackgroundThread()
  private let console: Console
  private let write: @Sendable ([StoredSample]) -> Bool
  private let log: @Sendable (String) -> Void
  private var lag = DeviceLagCount()
  /// The last hour up to which hours were made of minutes.
  private var rolled: Int64?
  private var isFailing = false

  /// - Parameters:
  ///   - write: has the writer store samples; false if it could not.
  ///   - log: takes the first of several failures.
  init(
    _ console: Console, write: @escaping @Sendable ([StoredSample]) -> Bool,
    log: @escaping @Sendable (String) -> Void
  ) {
    (self.console, self.write, self.log) = (console, write, log)
  }

  /// Starts the thread. Call it once.
  func start(_ figures: @escaping @Sendable () -> ConsoleServer) throws(ServerError) {
    try thread.start { [unowned self] in
      var last = figures()
      var known = lookAtDevices()
      while thread.sleep(Self.interval) {
        let figures = figures()
        var sample = Sample(from: last, to: figures)
        (sample[.devices], sample[.devicesBehind]) = (Double(known.devices), Double(known.behind))
        last = figures
        console.doctor.enforceTimeLimit()
        guard console.samples.add(sample, at: now) else { continue }
        known = lookAtDevices()
        store(console.samples.due(at: now))
      }
      store(console.samples.unwritten.dropLast())
    }
  }

  /// Stores the minutes that wait, and ends the thread. Call it once, before the writer stops.
  func stop() { thread.stop() }

  private var now: Int64 { console.now / 1000 }

  /// Counts the devices that are behind, unless nothing has been written since.
  private func lookAtDevices() -> (devices: Int, behind: Int) {
    if lag.hasBegun, console.samples.unwritten.dropLast().last?.sample[.writing] == 0 { return lag.counts }
    do {
      try ReadLimit.$current.withValue(.long(Self.lagLimit)) {
        try console.read { try lag.look($0) }
      }
    } catch { failed(error) }
    return lag.counts
  }

  private func store(_ minutes: some Collection<SampleRing.Timed>) {
    if minutes.isEmpty { return }
    let rows = minutes.map { stored(.minute, $0) }
    guard write(rows) else { return failed("The writer did not take them.") }
    console.samples.wrote(Array(minutes))
    do { try rollUp() } catch { return failed(error) }
    isFailing = false
  }

  /// Makes hours of the minutes of complete hours.
  private func rollUp() throws {
    let span = StoredSample.Span.hour.rawValue
    let hour = now - now % span
    if let rolled, rolled >= hour { return }
    let hours = try console.read { try $0.hours(of: console.node, before: hour, at: now) }
    guard hours.isEmpty || write(hours.map { stored(.hour, $0) }) else { return }
    rolled = hour
  }

  private func stored(_ span: StoredSample.Span, _ timed: SampleRing.Timed) -> StoredSample {
    StoredSample(node: console.node, span: span, at: timed.at, content: timed.sample.content)
  }

  private func failed(_ error: Any) {
    if !isFailing { log("The samples of the console's charts wait: \(error)") }
    isFailing = true
  }
}
