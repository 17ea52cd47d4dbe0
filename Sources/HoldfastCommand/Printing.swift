import HoldfastCore

/// Prints lines for a person: nothing in them, as names that others have chosen, does more to the terminal than to be read.
func print(_ text: String, terminator: String = "\n") {
  let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { String($0).shown }
  Swift.print(lines.joined(separator: "\n"), terminator: terminator)
}
