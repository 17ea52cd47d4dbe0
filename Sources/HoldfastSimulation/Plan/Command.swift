/// A command of a plan. Each has its own seed, so that leaving one out changes no other.
struct Command {
  enum Machine: Hashable {
    case server
    /// By number; an unknown number means no device.
    case device(Int)
  }

  enum Trouble: String, CaseIterable {
    /// kill -9.
    case kill
    /// Power failure.
    case crash
    /// One step fails.
    case ioError
    /// Writes fail until there is room again.
    case full
  }

  enum Action {
    /// A person edits: one transaction.
    case write(device: Int)
    /// A person, or the system, requests a sync.
    case sync(device: Int)
    /// This many milliseconds pass.
    case pass(Int64)
    /// The network changes.
    case weather(Weather)
    /// A trouble after a number of disk steps of a machine.
    case trouble(Trouble, Machine, afterSteps: Int)
    /// A full disk has room again.
    case room(Machine)
    /// A clock jumps by a number of milliseconds.
    case clock(Machine, by: Int64)
    /// Signs out for a while.
    case signOut(device: Int, removingData: Bool)
    /// Another process opens the same file, and later ends.
    case secondProcess(device: Int)
    /// The disk of a device is copied to a new device.
    case copy(device: Int)
    /// The disk of a device is restored to an earlier state.
    case restore(device: Int)
    /// Follows or unfollows the public zone.
    case follow(device: Int, Bool)
    /// A backup of the server's database is taken.
    case backUpServer
    /// The server's database is restored from the last backup.
    case restoreServer
    /// The app or the server is replaced by one with a larger schema.
    case upgrade(Machine)
  }

  /// Its place in the whole plan, which identifies it.
  let index: Int
  let seed: UInt64
  let action: Action
}

extension Command: CustomStringConvertible {
  var description: String { "\(index): \(action)" }
}

extension Command.Machine: CustomStringConvertible {
  var description: String {
    switch self {
    case .server: "server"
    case .device(let number): "device \(number)"
    }
  }
}

/// The faults of the network. Each number n is a probability of 1/n; 0 is never.
struct Weather {
  var lostRequest = 0
  var lostAnswer = 0
  var doubled = 0
  /// Cut at any byte, and delivered as if complete.
  var cut = 0
  /// The connection dies silently: neither answer nor error arrives, until the device gives up.
  var silent = 0
  var delay: ClosedRange<Int64> = 5...60

  static let calm = Weather()
}
