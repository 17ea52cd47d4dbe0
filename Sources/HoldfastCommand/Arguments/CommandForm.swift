import HoldfastCore

/// An invalid command line.
struct UsageError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// What a subcommand takes, declared: the parser, the help, the completions and the manual page are made of it.
struct CommandForm {
  /// An option: `--name VALUE`, or the flag `--name`.
  struct Option {
    let name: String
    /// The value's placeholder in the help; nil for a flag.
    let value: String?
    let help: String
    var isRequired = false
    /// Whether the environment and the configuration file may give it: `OptionDefaults`.
    var isSetting = false
    /// Options that it replaces: if one of them is given nearer to the command line, this one does not count.
    var alternatives: [String] = []
  }

  let name: String
  let summary: String
  /// The placeholder of the arguments that are no options, such as `[FILE]`.
  var arguments = ""
  /// The permitted number of positional arguments.
  var argumentCount = 0...0
  var options: [Option] = []
  /// Sentences below the options.
  var notes = ""

  /// The option of every command that has it answer programs.
  static let jsonOption = Option(
    name: "json", value: nil, help: "Prints one JSON object, for programs, in place of lines")

  /// All options, those that every command has included.
  var allOptions: [Option] {
    options + (options.contains(where: \.isSetting) ? [OptionDefaults.fileOption] : []) + [Self.jsonOption]
  }

  /// Parses what follows the command's name. `--name=VALUE` is valid as well, and `--` ends the options.
  ///
  /// - Parameters:
  ///   - environment: the environment variables, for the settings that the command line does not give.
  ///   - settings: the names of all settings, of any command.
  /// - Throws: `UsageError` for an unknown option, a missing value, a wrong number of arguments or a wrong configuration file; what reading
  ///   the file throws.
  func parse(_ words: [String], environment: TextMap<String>, settings: [String]) throws -> Options {
    var parsed = try parse(words)
    let defaults = try OptionDefaults(
      environment: environment, file: parsed[OptionDefaults.fileOption.name], known: settings)
    parsed.values[OptionDefaults.fileOption.name] = defaults.path
    try defaults.complete(&parsed.values, of: self)
    for option in options where option.isRequired && parsed.values[option.name] == nil {
      throw UsageError("--\(option.name) is missing.")
    }
    return parsed
  }

  private func parse(_ words: [String]) throws(UsageError) -> Options {
    var parsed = Options()
    var rest = words[...]
    while let word = rest.popFirst() {
      if word == "--" {
        parsed.arguments += rest
        break
      }
      guard word.hasPrefix("--") else {
        if word.hasPrefix("-"), word != "-" { throw UsageError("There is no option \(word).") }
        parsed.arguments.append(word)
        continue
      }
      let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(parts[0])
      guard let option = allOptions.first(where: { $0.name == name }) else {
        throw UsageError(
          "There is no option --\(name).\(suggestion(for: name, among: allOptions.map(\.name), prefix: "--"))"
        )
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
    if !argumentCount.contains(parsed.arguments.count) {
      throw UsageError(
        arguments.isEmpty ? "holdfast \(name) takes no arguments." : "holdfast \(name) takes \(arguments).")
    }
    return parsed
  }

  /// The usage line.
  var usage: String {
    var usage = "holdfast \(name)"
    for option in options where option.isRequired { usage += " \(option.form)" }
    if allOptions.contains(where: { !$0.isRequired }) { usage += " [OPTIONS]" }
    return arguments.isEmpty ? usage : "\(usage) \(arguments)"
  }

  /// The help text of the command.
  var help: String {
    var text = "Usage: \(usage)\n\n\(summary)"
    let options = allOptions
    if !options.isEmpty {
      let width = options.map(\.form.count).max() ?? 0
      text += "\n\nOptions:"
      for option in options {
        text +=
          "\n  \(option.form)\(String(repeating: " ", count: width - option.form.count + 2))\(option.help)"
      }
    }
    for part in [notes, options.contains(where: \.isSetting) ? OptionDefaults.notes : ""] where !part.isEmpty
    {
      text += "\n\n\(part)"
    }
    return text
  }
}

extension CommandForm.Option {
  /// The option as the usage shows it.
  var form: String { "--\(name)\(value.map { " \($0)" } ?? "")" }
}

extension [CommandForm] {
  /// The names of the options that are settings.
  var settings: [String] { flatMap(\.options).filter(\.isSetting).map(\.name) }
}

extension [CommandForm.Option] {
  /// The same options, which the environment and the configuration file may give, too.
  var settings: Self {
    map {
      var option = $0
      option.isSetting = true
      return option
    }
  }
}

/// The options and arguments of a command line.
struct Options {
  fileprivate(set) var arguments: [String] = []
  fileprivate(set) var values: TextMap<String> = [:]

  /// The value of an option; nil if absent.
  subscript(name: String) -> String? { values[name] }

  /// Whether an option was given.
  func has(_ name: String) -> Bool { values[name] != nil }

  /// The number that an option has; nil if it is absent, or says `none` where it may.
  ///
  /// - Parameter unit: what the number counts.
  func number(
    _ name: String, in range: ClosedRange<Int>, _ unit: String = "a number", orNone: Bool = false
  ) throws(UsageError) -> Int? {
    guard let text = values[name], !(orNone && text == "none") else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw UsageError(
        "--\(name) takes \(unit) from \(range.lowerBound) to \(range.upperBound)\(orNone ? ", or none" : "")."
      )
    }
    return number
  }
}
