import Glibc
import HoldfastCore

/// Prints lines for a person: nothing in them, as names that others have chosen, does more to the terminal than to be read.
func print(_ text: String, terminator: String = "\n") {
  let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { String($0).shown }
  Swift.print(lines.joined(separator: "\n"), terminator: terminator)
}

/// Writes a line to the standard error.
func writeError(_ text: String) { write(line: text, to: 2) }

/// Writes a line to the standard output at once, past its buffer.
func writeLine(_ text: String) { write(line: text, to: 1) }

private func write(line: String, to descriptor: Int32) {
  var line = line + "\n"
  line.withUTF8 { _ = Glibc.write(descriptor, $0.baseAddress, $0.count) }
}
