import CWebClient
import HoldfastCore
import HoldfastHTTP

/// The files of the console's page, in the program.
enum ConsoleFiles {
  /// By their paths below `/console/`.
  static let files: TextMap<HTTPResponse> = {
    var files: TextMap<HTTPResponse> = [:]
    for index in 0..<console_file_count() {
      let file = console_file(index)
      let path = String(cString: file.path)
      files[path] = WebFiles.response(Array(UnsafeBufferPointer(start: file.bytes, count: file.count)), path)
    }
    return files
  }()
}
