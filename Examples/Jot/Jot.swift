import Foundation
import Holdfast

/// A small lists app for the terminal, on the Holdfast client library: it works with no network, and syncs when told to.
@main
enum Jot {
  static func main() async {
    Terminal.openClosedDescriptors()
    // The device's database, what lies beside it and the token are for their owner alone.
    umask(0o077)
    let signals = Interruption.begin()
    var status: Int32 = 0
    do {
      try await run(Array(CommandLine.arguments.dropFirst()))
    } catch {
      let failure = Failure(error)
      let lines = failure.message.split(separator: "\n", omittingEmptySubsequences: false).map {
        String($0).shown
      }
      Terminal.error.write(Terminal.error.paint("jot: ", .red) + lines.joined(separator: "\n") + "\n")
      status = failure.status.rawValue
    }
    await Notebook.close()
    for signal in signals { signal.cancel() }
    if status != 0 { exit(status) }
  }

  private static func run(_ words: [String]) async throws {
    let arguments = try Arguments(words, options: Commands.options)
    guard let (command, rest) = Commands.find(arguments.words) else {
      guard let unknown = arguments.words.first, unknown != "help" else {
        let topic = arguments.words.dropFirst()
        return Terminal.output.write(Help.text(of: Commands.find(Array(topic))?.command, Terminal.output))
      }
      throw Failure(.usage, "There is no command \"\(unknown)\". `jot --help` lists them.")
    }
    if arguments.has(.help) { return Terminal.output.write(Help.text(of: command, Terminal.output)) }
    try arguments.check(against: command)
    guard command.counts.contains(rest.count) else {
      throw Failure(.usage, "Say `jot \(command.usage)`. `jot \(command.name) --help` explains it.")
    }
    try await command.run(Invocation(words: rest, arguments: arguments))
  }
}
