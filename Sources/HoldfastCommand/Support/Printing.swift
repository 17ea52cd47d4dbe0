import HoldfastCore

/// Prints lines of a command: `Output.line`.
func print(_ text: String) { Output.shared.line(text) }

/// Writes lines to standard error, as safe for the terminal as those of `Output.line`.
func writeError(_ text: String) { _ = writeAll(Array("\(text.shownLines)\n".utf8), to: 2) }

extension String {
  /// The text as it is safe to show on a terminal, with its line breaks.
  var shownLines: String {
    split(separator: "\n", omittingEmptySubsequences: false).map { String($0).shown }.joined(separator: "\n")
  }
}
