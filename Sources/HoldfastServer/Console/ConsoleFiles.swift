import CWebClient
import HoldfastCore
import HoldfastHTTP

/// The files of the console's page, in the program.
enum ConsoleFiles {
  /// By their paths below `/console/`.
  static let files = WebFiles.embedded(console_file_count(), console_file)
}
