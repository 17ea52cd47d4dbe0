/// Something that a plan has happen in the world. Each has a seed of its own, so that leaving one out changes no other.
struct Command {
  enum Machine: Hashable {
    case server
    /// By number; one that is not there stands for none.
    case device(Int)
  }

  enum Trouble: String, CaseIterable {
    /// kill -9.
    case kill
    /// Loss of power.
    case crash
    /// One step fails.
    case ioError
    /// Nothing can be written any more, until there is room again.
    case full
  }

  enum Action {
    /// A person edits: one transaction.
    case write(device: Int)
    /// A person, or the system, asks for a sync.
    case sync(device: Int)
    /// So many milliseconds go by.
    case pass(Int64)
    /// The network changes.
    case weather(Weather)
    /// After so many steps of a machine's disk.
    case trouble(Trouble, Machine, afterSteps: Int)
    /// There is room on a full disk again.
    case room(Machine)
    /// A clock jumps by so many milliseconds.
    case clock(Machine, by: Int64)
    /// Signs out, for a while.
    case signOut(device: Int, removingData: Bool)
    /// Another process opens the same file, and later ends.
    case secondProcess(device: Int)
    /// The disk of a device is copied to a new device.
    case copy(device: Int)
    /// The disk of a device is as it was at some earlier time.
    case restore(device: Int)
    /// Begins or ends to follow the public zone.
    case follow(device: Int, Bool)
    /// A backup of the server's database is taken.
    case backUpServer
    /// The server's database is what the last backup has.
    case restoreServer
    /// The app, or the server, is replaced by one with a larger schema.
    case upgrade(Machine)
  }

  /// Its place in the whole plan, which names it.
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

/// What the network does to messages. Each number is one in so many; 0 is never.
struct Weather {
  var lostRequest = 0
  var lostAnswer = 0
  var doubled = 0
  /// Cut at any byte, and delivered as if it were whole.
  var cut = 0
  /// The connection dies without a word: neither answer nor error, until the device gives up.
  var silent = 0
  var delay: ClosedRange<Int64> = 5...60

  static let calm = Weather()
}
