import HoldfastCore
import Foundation

/// Where text goes: the standard output or the standard error, in colour when a person looks at it.
struct Terminal: Sendable {
  enum Style: String, Sendable {
    case bold = "1"
    case dim = "2"
    case reverse = "7"
    case red = "31"
    case green = "32"
    case yellow = "33"
  }

  static let output = Terminal(descriptor: STDOUT_FILENO)
  static let error = Terminal(descriptor: STDERR_FILENO)

  private let descriptor: Int32
  /// Whether a person looks at it.
  let isInteractive: Bool
  private let hasColour: Bool

  private init(descriptor: Int32) {
    self.descriptor = descriptor
    isInteractive = isatty(descriptor) == 1
    // https://no-color.org
    hasColour = isInteractive && (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty
  }

  /// Opens /dev/null for standard descriptors that are closed: else a file of the database gets the number of one, and text is written into it.
  static func openClosedDescriptors() {
    // The lowest number that is free is given first: that of the closed one.
    for descriptor: Int32 in 0...2 where fcntl(descriptor, F_GETFD) == -1 { _ = open("/dev/null", O_RDWR) }
  }

  func paint(_ text: String, _ style: Style) -> String {
    hasColour ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
  }

  /// Writes at once; nothing waits in a buffer.
  func write(_ text: String) {
    try? FileHandle(fileDescriptor: descriptor, closeOnDealloc: false).write(contentsOf: Data(text.utf8))
  }

  /// Writes a sentence as a line: nothing in it, as titles that others have chosen, does more to the terminal than to be read.
  func say(_ sentence: String) { write(sentence.shown + "\n") }

  /// Whether a person can be asked: both ends are a terminal.
  static var canAsk: Bool { output.isInteractive && isatty(STDIN_FILENO) == 1 }

  /// Asks, and reads a line; nil at the end of the input.
  static func ask(_ prompt: String) -> String? {
    output.write(prompt)
    return readLine()?.trimmingCharacters(in: .whitespaces)
  }

  /// Reads a password without showing it.
  static func password(_ prompt: String) throws -> String {
    guard let typed = getpass(prompt) else {
      throw Failure(
        .usage, "There is no terminal to ask for the password: say --password TEXT or set JOT_PASSWORD.")
    }
    return String(cString: typed)
  }
}

extension String {
  /// The text with spaces behind it.
  func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }

  /// The text with spaces before it.
  func indented(to width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}
