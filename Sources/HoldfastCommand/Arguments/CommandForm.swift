import HoldfastCore

/// An invalid command line.
struct UsageError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// The declared arguments of a subcommand, for the parser and the help.
struct CommandForm {
  /// An option: `--name VALUE`, or the flag `--name`.
  struct Option {
    let name: String
    /// The placeholder of the value in the help; nil for a flag.
    let value: String?
    let help: String
    var isRequired = false
  }

  let name: String
  let summary: String
  /// The placeholder of the positional arguments in the help, such as `[FILE]`.
  var arguments = ""
  /// The permitted number of positional arguments.
  var argumentCount = 0...0
  var options: [Option] = []
  /// Sentences below the options.
  var notes = ""

  /// Parses the words after the command's name. `--name=VALUE` is valid too, and `--` ends the options.
  ///
  /// - Throws: `UsageError` for an unknown option, a missing value or a wrong number of arguments.
  func parse(_ words: [String]) throws(UsageError) -> Options {
    var parsed = Options()
    var rest = words[...]
    while let word = rest.popFirst() {
      if word == "--" {
        parsed.arguments += rest
        break
      }
      guard word.hasPrefix("--") else {
        parsed.arguments.append(word)
        continue
      }
      let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let option = options.first(where: { $0.name == parts[0] }) else {
        throw UsageError("There is no option \(word).")
      }
      if option.value == nil {
        if parts.count > 1 { throw UsageError("--\(option.name) takes no value.") }
        parsed.values[option.name] = ""
      } else if let value = parts.count > 1 ? String(parts[1]) : rest.popFirst() {
        parsed.values[option.name] = value
      } else {
        throw UsageError("--\(option.name) takes a value.")
      }
    }
    for option in options where option.isRequired && parsed.values[option.name] == nil {
      throw UsageError("--\(option.name) is missing.")
    }
    if !argumentCount.contains(parsed.arguments.count) {
      throw UsageError(
        arguments.isEmpty ? "holdfast \(name) takes no arguments." : "holdfast \(name) takes \(arguments).")
    }
    return parsed
  }

  /// The help text of the command.
  var help: String {
    var usage = "Usage: holdfast \(name)"
    for option in options where option.isRequired { usage += " \(form(option))" }
    if options.contains(where: { !$0.isRequired }) { usage += " [OPTIONS]" }
    if !arguments.isEmpty { usage += " \(arguments)" }
    var text = "\(usage)\n\n\(summary)"
    if !options.isEmpty {
      let width = options.map { form($0).count }.max() ?? 0
      text += "\n\nOptions:"
      for option in options {
        let form = form(option)
        text += "\n  \(form)\(String(repeating: " ", count: width - form.count + 2))\(option.help)"
      }
    }
    return notes.isEmpty ? text : "\(text)\n\n\(notes)"
  }

  private func form(_ option: Option) -> String { "--\(option.name)\(option.value.map { " \($0)" } ?? "")" }
}

/// The parsed options and arguments of a command line.
struct Options {
  fileprivate(set) var arguments: [String] = []
  fileprivate(set) var values: TextMap<String> = [:]

  /// The value of an option; nil if absent.
  subscript(name: String) -> String? { values[name] }

  /// Whether an option was given.
  func has(_ name: String) -> Bool { values[name] != nil }
}
