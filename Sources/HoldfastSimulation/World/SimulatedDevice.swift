import Holdfast
import HoldfastCore

/// A device: its disk, its clock, its person, and the processes that run the app on it.
final class SimulatedDevice {
  /// A process of the app.
  final class App {
    let process: SimulatedProcess
    let database: LocalDatabase
    let conversation: SyncConversation
    /// Only the timer of this number is valid.
    var timer = 0
    /// The open or requested event stream.
    var stream: SimulatedStream?
    /// The requests with outstanding answers.
    var exchanges: Set<Int> = []
    /// Whether the server rejects the token, and the person must sign in.
    var isSignedOut = false
    /// The results of manual syncs, by waiter.
    var finished: [Int: Bool] = [:]

    init(_ process: SimulatedProcess, _ database: LocalDatabase, _ conversation: SyncConversation) {
      (self.process, self.database, self.conversation) = (process, database, conversation)
    }
  }

  /// The activity that was interrupted when the app died. It determines the permitted states at the next start.
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
  /// The version of the app at its next start.
  var version = Schemas.Version.first
  var apps: [App] = []
  /// The observer's last view.
  var view = DeviceView()
  var interrupted = Interrupted.nothing
  /// Whether an answer met a disk error. The next opening of the file shows whether its commit took effect.
  var hasUnsureAnswer = false
  /// Whether the last write discards a change set in quarantine.
  var isDiscarding = false
  /// Whether the person currently wants to be signed in.
  var wantsSession = true
  /// Whether the account is known to exist.
  var hasAccount = false
  /// Whether the public zone is followed.
  var isFollowing = false
  var observer: Observer?
  /// An earlier state of the disk, and the model's state then.
  var backup: Backup?

  init(number: Int, user: String) {
    self.number = number
    self.user = user
    machine = "device\(number)"
  }

  var path: String { "/\(machine)/app.db" }
}

/// The page files of downloads on a simulated disk.
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
