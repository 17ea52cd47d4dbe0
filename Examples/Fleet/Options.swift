/// A command line that makes no sense.
struct UsageError: Error, CustomStringConvertible {
  let description: String
}

/// What the command line said.
struct Options {
  /// The address of the servers, or of what stands before them.
  var server = ""
  /// The PostgreSQL database of the servers, to compare with.
  var database = ""
  /// The schema: one with lists and items, as Jot's.
  var schema = ""
  /// The databases of a directory, in place of `server` and `database`.
  var places: [Place] = []
  /// Where the devices' databases are made.
  var folder = ""
  var devices = 200
  var users = 40
  /// Seconds between two edits of one device, on the average.
  var pause = 8.0
  /// Seconds in which all must agree by themselves after the last edit.
  var patience = 20
  /// Decides who is in which list, and what is edited.
  var seed: UInt64 = 1

  static let usage = """
    fleet --server URL --schema FILE --database URL --folder DIR [--devices N] [--users N]
          [--pause SECONDS] [--patience SECONDS] [--seed N]
    fleet --place NAME,URL,DATABASE --place … instead of --server and --database: the databases of a directory
    Reads from the standard input: watch (clear the failures so far), report (say how many there were), rest (stop editing, compare).
    In a directory: watch NAME, report (say what was confirmed elsewhere since), rest.
    """

  init(_ words: [String]) throws(UsageError) {
    var rest = words[...]
    while let name = rest.popFirst() {
      guard let value = rest.popFirst() else { throw UsageError(description: Self.usage) }
      switch name {
      case "--server": server = value
      case "--database": database = value
      case "--place": places.append(try Place(value))
      case "--schema": schema = value
      case "--folder": folder = value
      case "--devices": devices = try Self.number(value)
      case "--users": users = try Self.number(value)
      case "--pause": pause = try Self.number(value)
      case "--patience": patience = try Self.number(value)
      case "--seed": seed = try Self.number(value)
      default: throw UsageError(description: Self.usage)
      }
    }
    if places.isEmpty == (server.isEmpty || database.isEmpty) || schema.isEmpty || folder.isEmpty
      || devices < 1
      || users < 1 || pause <= 0
    {
      throw UsageError(description: Self.usage)
    }
  }

  private static func number<Number: LosslessStringConvertible>(_ text: String) throws(UsageError) -> Number {
    guard let number = Number(text) else { throw UsageError(description: Self.usage) }
    return number
  }
}
