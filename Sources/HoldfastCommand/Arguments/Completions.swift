import HoldfastCore

/// Completion scripts of the shells, made from the commands.
enum Completions: String, CaseIterable {
  case bash, zsh, fish

  /// The script for some commands.
  func script(_ commands: [CommandForm]) -> String {
    switch self {
    case .bash: Self.bash(commands)
    case .zsh: Self.zsh(commands)
    case .fish: Self.fish(commands)
    }
  }

  private static func bash(_ commands: [CommandForm]) -> String {
    let names = (commands.map(\.name) + ["help", "--help", "--version"]).joined(separator: " ")
    let cases = commands.map { form in
      "    \(form.name)) words=\"\(form.allOptions.map { "--\($0.name)" }.joined(separator: " ")) --help\" ;;"
    }
    let valued = TextSet(commands.flatMap { $0.allOptions }.filter { $0.value != nil }.map(\.name))
    let files = valued.sorted().map { "--\($0)" }.joined(separator: "|")
    return """
      _holdfast() {
        local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words
        COMPREPLY=()
        if ((COMP_CWORD == 1)); then
          mapfile -t COMPREPLY < <(compgen -W "\(names)" -- "$word")
          return
        fi
        case $before in
          \(files)) mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
        esac
        case ${COMP_WORDS[1]} in
          help) words="\(commands.map(\.name).joined(separator: " "))" ;;
      \(cases.joined(separator: "\n"))
        esac
        if [[ $word == -* || ${COMP_WORDS[1]} == help ]]; then
          mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
        else
          mapfile -t COMPREPLY < <(compgen -f -- "$word")
        fi
      }
      complete -o filenames -F _holdfast holdfast
      """
  }

  private static func zsh(_ commands: [CommandForm]) -> String {
    let names = commands.map { "    '\($0.name):\(quoted($0.summary, escaping: ":"))'" }
    let cases = commands.map { form in
      let options = form.allOptions.map { option in
        let help = quoted(option.help, escaping: "[]:")
        return
          "      '--\(option.name)[\(help)]\(option.value.map { ":\(quoted($0, escaping: ":")):_files" } ?? "")'"
      }
      return """
            \(form.name)) _arguments \\
        \((options + ["      '--help[Show the help]'", "      '*:file:_files'"]).joined(separator: " \\\n")) ;;
        """
    }
    return """
      #compdef holdfast
      _holdfast() {
        local -a commands=(
      \(names.joined(separator: "\n"))
        )
        if ((CURRENT == 2)); then
          _describe command commands
          return
        fi
        local command=$words[2]
        shift words
        ((CURRENT--))
        case $command in
          help) _describe command commands ;;
      \(cases.joined(separator: "\n"))
        esac
      }
      _holdfast "$@"
      """
  }

  private static func fish(_ commands: [CommandForm]) -> String {
    var lines = ["complete -c holdfast -f"]
    for form in commands {
      lines.append(
        "complete -c holdfast -n __fish_use_subcommand -a \(form.name) -d '\(quoted(form.summary))'")
      for option in form.allOptions {
        lines.append(
          "complete -c holdfast -n '__fish_seen_subcommand_from \(form.name)' -l \(option.name)\(option.value == nil ? "" : " -r -F") -d '\(quoted(option.help))'"
        )
      }
    }
    return lines.joined(separator: "\n")
  }

  /// A text inside single quotes, which none of the shells reads further.
  private static func quoted(_ text: String, escaping special: String = "") -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      if scalar == "'" {
        result += "’"
      } else {
        if special.unicodeScalars.contains(scalar) { result += "\\" }
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
