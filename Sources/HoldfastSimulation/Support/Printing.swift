import Foundation

/// Prints a line at once, also when this process is about to be ended.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
