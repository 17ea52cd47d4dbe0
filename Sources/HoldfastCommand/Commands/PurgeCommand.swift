import Glibc
import HoldfastCore
import HoldfastServer

/// `holdfast purge`: one retention pass.
enum PurgeCommand: Subcommand {
  static let form = CommandForm(
    name: "purge",
    summary:
      "Purges tombstones and expired data that no device needs: one pass, as the server runs them itself.",
    options: [
      .init(
        name: "trust-clock", value: nil,
        help: "The clock is right, however far it is ahead: what is old by it goes at once")
    ] + .retention + .database,
    notes: "Works while the server runs. docs/RETENTION.md says what goes, and why nothing is missed by it.")

  static func run(_ options: Options) throws -> Int32 {
    let purged = try Administration(options.location).purge(
      options.retention, trustsClock: options.has("trust-clock"), warn: { print($0) }, pause: pause)
    print("\(purged.tombstones) tombstones, in \(purged.zones) steps")
    print("\(purged.created) notes of which request created a record")
    print("\(purged.acks) acks of devices that are dead")
    print("\(purged.conflicts) conflicts")
    print("\(purged.answers) answers to requests, \(purged.results) kept results")
    print("\(purged.lostHistory) notes of what was there before a restore")
    print("\(purged.devices) devices that were never used")
    print("\(purged.carried) origins of carried change sets")
    print("\(purged.erasedRecords + purged.remains) records and notes of users who are being erased")
    for (name, count) in [
      ("tombstones", purged.tombstones), ("created", purged.created), ("acks", purged.acks),
      ("conflicts", purged.conflicts), ("answers", purged.answers), ("results", purged.results),
      ("lost_history", purged.lostHistory), ("devices", purged.devices), ("carried", purged.carried),
      ("erased", purged.erasedRecords + purged.remains), ("postponed", purged.postponed),
    ] { Output.shared.set(name, count) }
    if purged.postponed == 0 { return 0 }
    print("\(purged.postponed) could not be done now; run it again.")
    return 1
  }
}

/// Sleeps, so that servers on the same database can write.
func pause(_ duration: Duration) {
  let (seconds, attoseconds) = duration.components
  var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
  nanosleep(&time, nil)
}

extension [CommandForm.Option] {
  /// The options for retention times.
  static var retention: [CommandForm.Option] {
    [
      .init(
        name: "keep-tombstones", value: "HOURS", help: "How long a tombstone stays at least; 24 unless given"),
      .init(
        name: "expire-devices-after", value: "DAYS",
        help: "How long a device that is not seen counts; 90 unless given"),
      .init(
        name: "keep-conflicts", value: "DAYS", help: "How long a conflict stays in the log; 90 unless given"),
    ].settings
  }
}

extension Options {
  /// The retention times.
  var retention: Retention {
    get throws(UsageError) {
      var retention = Retention()
      if let hours = try number("keep-tombstones", "hours", 0...1_000_000) {
        retention.tombstones = .seconds(hours * 3600)
      }
      if let days = try number("expire-devices-after", "days", 2...36500) {
        retention.devices = .seconds(days * 86_400)
      }
      if let days = try number("keep-conflicts", "days", 1...36500) {
        retention.conflicts = .seconds(days * 86_400)
      }
      return retention
    }
  }

  private func number(_ name: String, _ unit: String, _ range: ClosedRange<Int64>) throws(UsageError)
    -> Int64?
  {
    guard let text = self[name] else { return nil }
    guard let number = Int64(text), range.contains(number) else {
      throw UsageError("--\(name) takes \(unit) from \(range.lowerBound) to \(range.upperBound).")
    }
    return number
  }
}
