import HoldfastCore

/// Prints lines of a command: `Output.line`.
func print(_ text: String) { Output.shared.line(text) }

/// Writes a line to standard error.
func writeError(_ text: String) { _ = writeAll(Array("\(text)\n".utf8), to: 2) }
