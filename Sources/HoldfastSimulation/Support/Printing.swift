import Foundation

/// Prints a line immediately, even if this process is about to end.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
