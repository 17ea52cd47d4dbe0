import Foundation
import Glibc
import HoldfastCore
import HoldfastPostgres
import HoldfastSQLite

/// The command line: finds the subcommand, parses its options and runs it.
@main
enum Program {
  static func main() {
    StandardDescriptors.open()
    SQLiteLibrary.disableMemoryStatistics()
    let status = run(Array(CommandLine.arguments.dropFirst()), environment: environment())
    if status == 0, !Output.shared.isWritten {
      writeError("holdfast: It is done, but its output can't be written. Is the disk full?")
      exit(1)
    }
    exit(status)
  }

  /// The variables of the environment that are settings.
  private static func environment() -> TextMap<String> {
    TextMap(
      ProcessInfo.processInfo.environment.filter { $0.key.hasPrefix("HOLDFAST_") }.map { ($0.key, $0.value) })
  }

  /// The subcommands.
  static var commands: [any Subcommand.Type] {
    [
      InitCommand.self, SchemaCommand.self, ServeCommand.self, SnapshotCommand.self, BackupCommand.self,
      RestoreCommand.self, ImportCommand.self, ZonesCommand.self,
      UsersCommand.self,
      DevicesCommand.self, TokensCommand.self, ConflictsCommand.self, AuditCommand.self, DoctorCommand.self,
      PurgeCommand.self, DirectoryCommand.self,
      BenchCommand.self,
    ]
  }

  /// Runs a command line, without the program's name.
  ///
  /// - Returns: the exit status: 0, 1 for a failure, 64 for a wrong command line.
  static func run(_ arguments: [String], environment: TextMap<String> = [:]) -> Int32 {
    let forms = commands.map { $0.form }
    switch (arguments.first, arguments.dropFirst().first) {
    case (nil, _):
      print(help)
      return 64
    case ("--help", _), ("-h", _), ("help", nil):
      print(help)
      return 0
    case ("help", let name?):
      return run([name, "--help"])
    case ("--version", _):
      print("holdfast \(Release.version)")
      return 0
    case ("--generate-completion-script", let shell):
      guard let completions = shell.flatMap(Completions.init(rawValue:)) else {
        return fail("--generate-completion-script takes bash, zsh or fish.", status: 64)
      }
      print(completions.script(forms))
      return 0
    case ("--generate-manual", let folder?):
      return generateManual(in: folder, forms)
    default: break
    }
    let name = arguments[0]
    guard let command = commands.first(where: { $0.form.name == name }) else {
      let meant = suggestion(for: name, among: forms.map(\.name))
      return fail("There is no command \"\(name)\".\(meant)\nSee holdfast --help.", status: 64)
    }
    let words = Array(arguments.dropFirst())
    let isJSON = words.prefix { $0 != "--" }.contains("--\(CommandForm.jsonOption.name)")
    Output.shared.begin(name, isJSON: isJSON)
    if words.prefix(while: { $0 != "--" }).contains(where: { $0 == "--help" || $0 == "-h" }) {
      print(command.form.help)
      return 0
    }
    // Only the owner may read created files: databases, backups, snapshots and exports.
    umask(0o077)
    do {
      let options = try command.form.parse(words, environment: environment, settings: forms.settings)
      let status = try command.run(options)
      Output.shared.finish(status: status)
      return status
    } catch let error as UsageError {
      return fail("\(error)\nSee holdfast \(name) --help.", status: 64)
    } catch let error as PostgresError
      where [.duplicatePreparedStatement, .undefinedPreparedStatement].contains(error.code)
    {
      return fail(
        """
        The address of the database is that of a pooler in transaction mode. Name the database itself with --database-direct, too. \
        PostgreSQL says: \(error)
        """, status: 1)
    } catch {
      return fail("\(error)", status: 1)
    }
  }

  private static func generateManual(in folder: String, _ forms: [CommandForm]) -> Int32 {
    do {
      let pages = forms.map { ManualPage(form: $0, version: Release.version) }.map { ($0.name, $0.text) }
      for (name, text) in [("holdfast.1", ManualPage.overview(forms, version: Release.version))] + pages {
        try writeNewFile("\(folder)/\(name)", Array(text.utf8))
      }
      return 0
    } catch { return fail("\(error)", status: 1) }
  }

  private static var help: String {
    let width = commands.map { $0.form.name.count }.max() ?? 0
    let lines = commands.map { command in
      let form = command.form
      return "  \(form.name)\(String(repeating: " ", count: width - form.name.count + 2))\(form.summary)"
    }
    return """
      Usage: holdfast COMMAND [OPTIONS]

      Commands:
      \(lines.joined(separator: "\n"))

      holdfast help COMMAND has the options of a command. holdfast --version prints the version.
      holdfast --generate-completion-script bash|zsh|fish prints completions for a shell; --generate-manual FOLDER writes the manual pages.
      """
  }

  private static func fail(_ message: String, status: Int32) -> Int32 {
    writeError("holdfast: \(message)")
    Output.shared.finish(status: status, error: message)
    return status
  }
}
