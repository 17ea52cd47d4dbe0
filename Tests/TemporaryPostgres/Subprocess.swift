import Foundation

/// A program that was started. Foundation's `Process` gives its children a socket and waits until nobody has it open,
/// which a server that goes on in the background does for ever.
struct Subprocess {
  let process: pid_t

  /// Closes all that the program would inherit beyond its input, output and errors. Another thread may be opening something that is not marked
  /// yet as its own, such as a pipe or Foundation's socket: it would wait for the end of a server that goes on for as long as the tests.
  private static let alone =
    #"for d in /proc/self/fd/*; do d=${d##*/}; if ((d > 2)); then eval "exec $d>&-"; fi; done; exec "$0" "$@""#

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - command: its path and arguments.
  ///   - input: the descriptor of its standard input; nil is one that is empty.
  ///   - output: the descriptor of its standard output; nil is one that goes nowhere, and for its errors too.
  init(_ command: [String], input: Int32?, output: Int32?) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if let input {
      posix_spawn_file_actions_adddup2(&actions, input, 0)
    } else {
      posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    }
    if let output {
      posix_spawn_file_actions_adddup2(&actions, output, 1)
    } else {
      posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
      posix_spawn_file_actions_adddup2(&actions, 1, 2)
    }
    // Threads of Swift's pools have signals blocked, and a program would inherit that: one that is to end on SIGTERM never would.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var mask = sigset_t()
    sigemptyset(&mask)
    posix_spawnattr_setsigmask(&attributes, &mask)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    let words = ["/bin/bash", "-c", Self.alone] + command
    let arguments = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var started = pid_t()
    let result = posix_spawn(&started, words[0], &actions, &attributes, arguments, environ)
    guard result == 0 else { throw TemporaryPostgresError("\(command[0]) can't be started: \(result)") }
    process = started
  }

  /// Waits for its end and gives its status; 0 is success.
  func wait() -> Int32 {
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    return status
  }

  /// Makes a pipe that no other program started by this process inherits.
  static func pipe() throws -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [-1, -1]
    guard Foundation.pipe(&ends) == 0 else { throw TemporaryPostgresError("No descriptor is left.") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }
}
