import Glibc
import HoldfastSQLite

/// The command line: finds the subcommand, parses its options, runs it.
@main
enum Program {
  static func main() {
    StandardDescriptors.open()
    SQLiteLibrary.disableMemoryStatistics()
    exit(run(Array(CommandLine.arguments.dropFirst())))
  }

  /// The subcommands. A new one is one line here.
  static var commands: [any Subcommand.Type] {
    [
      InitCommand.self, SchemaCommand.self, ServeCommand.self, SnapshotCommand.self, BackupCommand.self,
      RestoreCommand.self, ImportCommand.self, ZonesCommand.self,
      UsersCommand.self,
      DevicesCommand.self, TokensCommand.self, ConflictsCommand.self, DoctorCommand.self, PurgeCommand.self,
      BenchCommand.self,
    ]
  }

  /// Runs a command line, without the program's name.
  ///
  /// - Returns: the exit status: 0, 1 for a failure, 64 for a command line that makes no sense.
  static func run(_ arguments: [String]) -> Int32 {
    guard let name = arguments.first, name != "--help", name != "-h", name != "help" else {
      print(help)
      return arguments.isEmpty ? 64 : 0
    }
    guard let command = commands.first(where: { $0.form.name == name }) else {
      return fail("There is no command \"\(name)\".\n\n\(help)", status: 64)
    }
    if arguments.contains("--help") || arguments.contains("-h") {
      print(command.form.help)
      return 0
    }
    // Databases, backups, snapshots and exports are for their owner alone.
    umask(0o077)
    do {
      return try command.run(try command.form.parse(Array(arguments.dropFirst())))
    } catch let error as UsageError {
      return fail("\(error)\nSee holdfast \(name) --help.", status: 64)
    } catch {
      return fail("\(error)", status: 1)
    }
  }

  private static var help: String {
    let width = commands.map { $0.form.name.count }.max() ?? 0
    let lines = commands.map { command in
      let form = command.form
      return "  \(form.name)\(String(repeating: " ", count: width - form.name.count + 2))\(form.summary)"
    }
    return
      "Usage: holdfast COMMAND [OPTIONS]\n\nCommands:\n\(lines.joined(separator: "\n"))\n\nEach says more with --help."
  }

  private static func fail(_ message: String, status: Int32) -> Int32 {
    writeError("holdfast: \(message)")
    return status
  }
}
