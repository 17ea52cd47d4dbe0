import Holdfast
import HoldfastCore

/// A device: its disk, its clock, its person, and the processes that run the app on it.
final class SimulatedDevice {
  /// The app, from its start to its end.
  final class App {
    let process: SimulatedProcess
    let database: LocalDatabase
    let conversation: SyncConversation
    /// Only the timer of this number still counts.
    var timer = 0
    /// The stream of events that it has, or waits for.
    var stream: SimulatedStream?
    /// The requests whose answers are awaited.
    var exchanges: Set<Int> = []
    /// The server takes the token no more, and the person is asked to sign in.
    var isSignedOut = false
    /// The syncs by hand that ended, by waiter.
    var finished: [Int: Bool] = [:]

    init(_ process: SimulatedProcess, _ database: LocalDatabase, _ conversation: SyncConversation) {
      (self.process, self.database, self.conversation) = (process, database, conversation)
    }
  }

  /// What was going on when the app died; decides what may be found at the next start.
  enum Interrupted { case nothing, writing, other }

  /// An earlier state of a device.
  struct Backup {
    let image: SimulatedDisk.Image
    let view: DeviceView
    let memory: Oracle.Backup
    let isFollowing: Bool
  }

  let number: Int
  let machine: String
  /// The name of the account.
  let user: String
  /// Which version of the app runs here next time.
  var version = Schemas.Version.first
  var apps: [App] = []
  /// What the observer saw last.
  var view = DeviceView()
  var interrupted = Interrupted.nothing
  /// An answer met a disk that failed: whether its commit is there is seen when the file is opened again.
  var hasUnsureAnswer = false
  /// The records that the last write deleted and made again.
  var recreated: Set<RecordKey> = []
  /// Whether the last write gives up what is in quarantine.
  var isDiscarding = false
  /// Whether the person wants to be signed in now.
  var wantsSession = true
  /// Whether the account is known to exist.
  var hasAccount = false
  /// The public zone is followed.
  var isFollowing = false
  var observer: Observer?
  /// An earlier state of the disk, and what was seen of it.
  var backup: Backup?

  init(number: Int, user: String) {
    self.number = number
    self.user = user
    machine = "device\(number)"
  }

  var path: String { "/\(machine)/app.db" }
}

/// Pages of downloads on a simulated disk.
///
/// @unchecked Sendable: the simulation has one thread.
final class SimulatedPages: PageStorage, @unchecked Sendable {
  private let disk: SimulatedDisk
  private let folder: String

  init(_ disk: SimulatedDisk, database: String) {
    self.disk = disk
    folder = database + "-pages"
  }

  func save(_ bytes: UnsafeBufferPointer<UInt8>, name: String) throws {
    try disk.write("\(folder)/\(name)", Array(bytes))
  }

  func load(_ name: String) -> [UInt8]? { disk.read("\(folder)/\(name)") }

  func remove(_ names: [String]) { for name in names { try? disk.delete("\(folder)/\(name)") } }

  func removeAll(but known: TextSet) { remove(disk.list(folder).filter { !known.contains($0) }) }
}
