import Foundation
import Holdfast

/// Many devices of the real client library in one process: people who share lists edit them all at once, while whoever
/// started this does to the servers what he likes. In the end it is compared whether all of them, and the server, hold the same.
@main
enum Fleet {
  static func main() async {
    do {
      let options = try Options(Array(CommandLine.arguments.dropFirst()))
      let isGood = try await run(options)
      exit(isGood ? 0 : 1)
    } catch {
      FileHandle.standardError.write(Data("fleet: \(error)\n".utf8))
      exit(error is UsageError ? 64 : 1)
    }
  }

  private static func run(_ options: Options) async throws -> Bool {
    raiseFileLimit()
    if !options.places.isEmpty { return try await DirectoryFleet.run(options) }
    let crew = try await Crew(options)
    say("ready: \(crew.devices.count) devices of \(options.users) people, \(crew.listCount) lists")
    await crew.work { obey(crew) }
    let comparison = try Comparison(crew, database: options.database)
    say(try await crew.settle(comparison))
    let findings = try comparison.run { say($0) }
    say("done: \(findings == 0 ? "all agree" : "\(findings) checks went wrong")")
    return findings == 0
  }

  /// Does what the standard input says until it says `rest`, or ends.
  private static func obey(_ crew: Crew) {
    while let command = readLine() {
      switch command {
      case "watch":
        for device in crew.devices { device.transport.clear() }
        say("watching")
      case "report": say(crew.report())
      case "rest": return
      default: say("unknown: \(command)")
      }
    }
  }

  /// Each device has files and connections of its own.
  private static func raiseFileLimit() {
    var limit = rlimit()
    #if canImport(Glibc)
      let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
      let files = RLIMIT_NOFILE
    #endif
    guard getrlimit(files, &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    _ = setrlimit(files, &limit)
  }
}

/// Prints a line at once.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
