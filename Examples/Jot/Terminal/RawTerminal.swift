import Foundation

/// The terminal as a full-screen program needs it: each key arrives at once and is not echoed, and the screen is one of its own.
///
/// Sources: POSIX termios; ECMA-48; XTerm Control Sequences, "Private Modes".
final class RawTerminal {
  /// What a terminal or a shell tells a program.
  enum Signal {
    case resize, stop, goOn, close

    fileprivate var number: Int32 {
      switch self {
      case .resize: SIGWINCH
      case .stop: SIGTSTP
      case .goOn: SIGCONT
      case .close: SIGHUP
      }
    }
  }

  private let former: termios
  /// Whether the program has the terminal, and not the shell.
  private(set) var isActive = false

  /// - Throws: `Failure` when the standard input or output is no terminal.
  init() throws {
    var settings = termios()
    guard Terminal.canAsk, tcgetattr(STDIN_FILENO, &settings) == 0 else {
      throw Failure(
        .usage,
        "`jot tui` needs a terminal as its standard input and output. In a script use the other commands, such as `jot items LIST --json`."
      )
    }
    former = settings
  }

  /// Takes the terminal, or takes it again after the shell had it.
  func enter() {
    var raw = former
    cfmakeraw(&raw)
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw)
    isActive = true
    // The other screen; bracketed paste; no line wraps by itself.
    Terminal.output.write("\u{1B}[?1049h\u{1B}[?2004h\u{1B}[?7l\u{1B}[H\u{1B}[2J")
  }

  /// Gives the terminal back as it was. Keys that nobody has read are dropped, so that the shell does not run them.
  func leave() {
    guard isActive else { return }
    isActive = false
    Terminal.output.write("\u{1B}[0m\u{1B}[?7h\u{1B}[?2004l\u{1B}[?25h\u{1B}[?1049l")
    var former = former
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &former)
  }

  /// Gives the terminal back and stops the program, as Ctrl-Z does; the shell's `fg` sends SIGCONT.
  func stop() {
    leave()
    kill(getpid(), SIGSTOP)
  }

  /// The columns and rows of the terminal; 80 and 24 when it does not say.
  static var size: (columns: Int, rows: Int) {
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
      return (80, 24)
    }
    return (Int(size.ws_col), Int(size.ws_row))
  }

  /// Reads the bytes of the keys, until `end` is called or the program ends.
  ///
  /// - Parameters:
  ///   - take: gets the bytes that are there.
  ///   - end: is called once, when the terminal is closed.
  static func readKeys(
    _ take: @escaping @Sendable ([UInt8]) -> Void, end: @escaping @Sendable () -> Void
  ) -> any DispatchSourceProtocol {
    let source = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO)
    // Who cancels the source ends the circle.
    source.setEventHandler {
      var buffer = [UInt8](repeating: 0, count: 4096)
      let count = read(STDIN_FILENO, &buffer, buffer.count)
      if count > 0 { return take(Array(buffer[..<count])) }
      if count < 0, errno == EINTR || errno == EAGAIN { return }
      source.cancel()
      end()
    }
    source.resume()
    return source
  }

  /// Hears a signal, in place of its default action.
  static func hear(_ kind: Signal, _ heard: @escaping @Sendable () -> Void) -> any DispatchSourceProtocol {
    // A SIGCONT continues the program even when it is ignored.
    signal(kind.number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: kind.number)
    source.setEventHandler { heard() }
    source.resume()
    return source
  }
}
