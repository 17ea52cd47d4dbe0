/// A command line, taken apart: words, and options with their values.
struct Arguments: Sendable {
  private(set) var words: [String] = []
  private var values: [Option: String] = [:]

  /// Takes a command line apart.
  ///
  /// - Parameters:
  ///   - line: what follows the name of the program.
  ///   - options: all that there are, of whatever command.
  /// - Throws: `Failure` for an unknown option, or a value that is missing or too much.
  init(_ line: [String], options: [Option]) throws {
    var rest = line[...]
    while let word = rest.popFirst() {
      if word == "--" {
        words += rest
        return
      }
      if word == "-h" {
        values[.help] = ""
        continue
      }
      guard word.hasPrefix("--") else {
        words.append(word)
        continue
      }
      let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(
        String.init)
      guard let option = options.first(where: { $0.name == parts[0] }) else {
        throw Failure(
          .usage, "There is no option \"\(word)\". Words that begin with -- come after a -- of their own.")
      }
      if option.value == nil {
        if parts.count > 1 { throw Failure(.usage, "--\(option.name) takes no value.") }
        values[option] = ""
      } else if let value = parts.count > 1 ? parts[1] : rest.popFirst() {
        values[option] = value
      } else {
        throw Failure(.usage, "Say \(option.usage).")
      }
    }
  }

  func has(_ option: Option) -> Bool { values[option] != nil }

  subscript(option: Option) -> String? { values[option] }

  /// Refuses options that another command has.
  func check(against command: Command) throws {
    for option in values.keys where !command.options.contains(option) {
      throw Failure(
        .usage,
        "`jot \(command.name)` has no option --\(option.name). `jot \(command.name) --help` explains it.")
    }
  }
}
