/// A page of the manual, made from the help of a command.
///
/// Source: man-pages(7), groff_man(7).
struct ManualPage {
  let form: CommandForm
  let version: String

  /// The name of its file.
  var name: String { "holdfast-\(form.name).1" }

  /// The page in roff.
  var text: String {
    var lines = [
      ".TH HOLDFAST-\(form.name.uppercased()) 1 \"\" \"holdfast \(version)\" \"Holdfast Manual\"", ".SH NAME",
      "holdfast\\-\(form.name) \\- \(Self.escaped(form.summary))", ".SH SYNOPSIS",
      ".B \(Self.escaped(form.usage))",
      ".SH DESCRIPTION", Self.escaped(form.summary),
    ]
    if !form.notes.isEmpty { lines += [".PP", Self.escaped(form.notes)] }
    if !form.allOptions.isEmpty { lines.append(".SH OPTIONS") }
    for option in form.allOptions {
      lines += [".TP", ".B \(Self.escaped(option.form))", Self.escaped(option.help)]
    }
    if form.options.contains(where: \.isSetting) {
      lines += [".SH ENVIRONMENT", Self.escaped(OptionDefaults.notes)]
    }
    lines += [
      ".SH EXIT STATUS", "0 for success, 1 for a failure or a finding, 64 for a wrong command line.",
      ".SH SEE ALSO", ".BR holdfast (1)",
    ]
    return lines.joined(separator: "\n") + "\n"
  }

  /// The page of the command as a whole.
  static func overview(_ commands: [CommandForm], version: String) -> String {
    var lines = [
      ".TH HOLDFAST 1 \"\" \"holdfast \(version)\" \"Holdfast Manual\"", ".SH NAME",
      "holdfast \\- offline\\-first data synchronization", ".SH SYNOPSIS", ".B holdfast COMMAND [OPTIONS]",
      ".SH COMMANDS",
    ]
    for form in commands {
      lines += [".TP", ".BR holdfast\\-\(form.name) (1)", escaped(form.summary)]
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// A text that roff prints as it is.
  private static func escaped(_ text: String) -> String {
    let escaped = text.unicodeScalars.reduce(into: "") { result, scalar in
      switch scalar {
      case "\\": result += "\\e"
      case "-": result += "\\-"
      case "`": result += "\\(ga"
      default: result.unicodeScalars.append(scalar)
      }
    }
    // A line that begins with a dot or an apostrophe is a request.
    return escaped.split(separator: "\n", omittingEmptySubsequences: false)
      .map { $0.hasPrefix(".") || $0.hasPrefix("'") ? "\\&\($0)" : String($0) }.joined(separator: "\n")
  }
}
