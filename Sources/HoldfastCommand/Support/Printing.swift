import Glibc
import HoldfastCore

/// Prints lines. Control characters, for example in names that users chose, are escaped for the terminal.
func print(_ text: String, terminator: String = "\n") {
  let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { String($0).shown }
  Swift.print(lines.joined(separator: "\n"), terminator: terminator)
}

/// Writes a line to standard error.
func writeError(_ text: String) { write(line: text, to: 2) }

/// Writes a line to standard output immediately, bypassing its buffer.
func writeLine(_ text: String) { write(line: text, to: 1) }

private func write(line: String, to descriptor: Int32) {
  var line = line + "\n"
  line.withUTF8 { _ = Glibc.write(descriptor, $0.baseAddress, $0.count) }
}
