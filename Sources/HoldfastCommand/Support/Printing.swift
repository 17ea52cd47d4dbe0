import Glibc
import HoldfastCore

/// Prints lines of a command: `Output.line`.
func print(_ text: String) { Output.shared.line(text) }

/// Writes a line to standard error.
func writeError(_ text: String) { write(line: text, to: 2) }

/// Writes a line to standard output immediately, bypassing its buffer.
func writeLine(_ text: String) { write(line: text, to: 1) }

private func write(line: String, to descriptor: Int32) {
  var line = line + "\n"
  line.withUTF8 { _ = Glibc.write(descriptor, $0.baseAddress, $0.count) }
}
