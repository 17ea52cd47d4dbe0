import HoldfastCore

/// Settings that the command line does not give: from the environment, else from a configuration file.
///
/// The environment has `HOLDFAST_LISTEN` for `--listen`. The file is a JSON object with the names of options as its members: texts, whole numbers,
/// arrays of texts in place of commas, and `true` for a flag.
struct OptionDefaults {
  /// The option that names the file.
  static let fileOption = CommandForm.Option(
    name: "config", value: "FILE", help: "The configuration file, in JSON; HOLDFAST_CONFIG names it as well",
    isSetting: true)

  /// The sentences about settings in the help.
  static let notes =
    "Settings may also come from the environment, as HOLDFAST_LISTEN for --listen and HOLDFAST_NO_SIGN_UP=yes for a flag, or from the configuration file. "
    + "The command line counts before the environment, and the environment before the file."

  /// The path of the file; nil if there is none.
  let path: String?
  private let environment: TextMap<String>
  private let file: TextMap<String>

  /// - Parameters:
  ///   - file: the path of the file, if the command line names one.
  ///   - known: the names of all settings, of any command: one file serves them all.
  /// - Throws: `UsageError` for a file that is no JSON object of settings; what reading it throws.
  init(environment: TextMap<String>, file path: String?, known: [String]) throws {
    self.environment = environment
    self.path = path ?? environment[Self.variable(of: Self.fileOption.name)]
    file = try self.path.map { try Self.settings(in: $0, known) } ?? [:]
  }

  /// Adds the settings of a command that `values` lacks.
  ///
  /// - Throws: `UsageError` for a flag with another value than yes or no.
  func complete(_ values: inout TextMap<String>, of form: CommandForm) throws(UsageError) {
    let sources = [
      (variables(of: form), Self.variable), (file, { "The setting \($0) of the configuration file" }),
    ]
    for (source, place) in sources {
      let given = values
      for option in form.options where option.isSetting && given[option.name] == nil {
        guard let value = source[option.name], option.alternatives.allSatisfy({ given[$0] == nil }) else {
          continue
        }
        if option.value != nil {
          values[option.name] = value
        } else if try Self.isOn(value, place(option.name)) {
          values[option.name] = ""
        }
      }
    }
  }

  private func variables(of form: CommandForm) -> TextMap<String> {
    TextMap(
      form.options.compactMap { option in
        environment[Self.variable(of: option.name)].map { (option.name, $0) }
      })
  }

  /// The environment variable of an option.
  static func variable(of name: String) -> String {
    "HOLDFAST_" + name.uppercased().split(separator: "-").joined(separator: "_")
  }

  private static func isOn(_ value: String, _ place: String) throws(UsageError) -> Bool {
    switch value {
    case "yes", "true", "1": return true
    case "no", "false", "0": return false
    default: throw UsageError("\(place) is yes or no, not \"\(value)\".")
    }
  }

  private static func settings(in path: String, _ known: [String]) throws -> TextMap<String> {
    let value: JSONValue
    do { value = try JSONValue(parsing: try readFile(path)) } catch let error as JSONError {
      throw UsageError("\(path) is no JSON: \(error)")
    }
    guard case .object(let members) = value else { throw UsageError("\(path) must hold a JSON object.") }
    var settings: TextMap<String> = [:]
    for member in members {
      guard known.contains(member.name) else {
        throw UsageError(
          "\(path): there is no setting \"\(member.name)\".\(suggestion(for: member.name, among: known))")
      }
      settings[member.name] = try text(of: member.value, member.name, path)
    }
    return settings
  }

  private static func text(of value: JSONValue, _ name: String, _ path: String) throws(UsageError) -> String {
    switch value {
    case .string(let text): return text
    case .bool(let isOn): return isOn ? "yes" : "no"
    case .array(let elements):
      let texts = elements.compactMap(\.stringValue)
      if texts.count == elements.count { return texts.joined(separator: ",") }
    default: if case .integer(let number) = value { return String(number) }
    }
    throw UsageError("\(path): \(name) must be a text, a whole number, true, false or an array of texts.")
  }
}
