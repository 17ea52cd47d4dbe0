/// What `--help` prints.
enum Help {
  static func text(of command: Command?, _ terminal: Terminal) -> String {
    command.map { text(of: $0, terminal) } ?? overview(terminal)
  }

  private static func overview(_ terminal: Terminal) -> String {
    var text = """
      Lists that work without a network, and sync when there is one.

      \(terminal.paint("jot COMMAND [WORDS] [OPTIONS]", .bold))

      """
    let width = Commands.all.map(\.usage.count).max() ?? 0
    for group in Commands.groups {
      text += "\n\(terminal.paint(group.title, .bold))\n"
      for command in group.commands { text += "  \(command.usage.padded(to: width))  \(command.summary)\n" }
    }
    text += "\n\(terminal.paint("Options of every command", .bold))\n" + lines(Option.common)
    text += """

      LIST and ITEM are titles, beginnings of titles that only one has, or ids. Edits are kept on this device
      and sent by `jot sync`, or at once with --sync. Every command that shows something has --json.
      `jot COMMAND --help` explains a command.

      \(terminal.paint("Exit codes", .bold))

      """
    for (code, meaning) in ExitStatus.explained { text += "  \(code.padded(to: 3))  \(meaning)\n" }
    return text
  }

  private static func text(of command: Command, _ terminal: Terminal) -> String {
    let details = command.details.isEmpty ? "" : "\n\(command.details)\n"
    return """
      \(terminal.paint("jot \(command.usage)", .bold))

      \(command.summary.prefix(1).uppercased() + command.summary.dropFirst()).
      \(details)
      \(lines(command.options))
      """
  }

  private static func lines(_ options: [Option]) -> String {
    let width = options.map(\.usage.count).max() ?? 0
    return options.map { "  \($0.usage.padded(to: width))  \($0.summary)\n" }.joined()
  }
}
