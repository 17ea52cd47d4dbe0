import Glibc
import HoldfastCore
import HoldfastSQLiteStore

/// An error of a file operation, with a message for people.
struct FileError: Error, CustomStringConvertible {
  let description: String

  init(_ path: String, _ doing: String, _ number: Int32 = errno) {
    description = "\(path) can't be \(doing): \(systemMessage(number))."
  }
}

/// Reads a whole file.
func readFile(_ path: String) throws -> [UInt8] {
  let descriptor = open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { throw FileError(path, "read") }
  defer { close(descriptor) }
  var bytes: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: 1 << 16)
  while true {
    let count = read(descriptor, &buffer, buffer.count)
    if count < 0 { throw FileError(path, "read") }
    if count == 0 { return bytes }
    bytes += buffer[..<count]
  }
}

/// Writes a new file, which must not exist. After a failure there is none.
func writeNewFile(_ path: String, _ bytes: [UInt8]) throws {
  let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
  guard descriptor >= 0 else {
    throw FileError(path, errno == EEXIST ? "written over; name another file" : "written")
  }
  defer { close(descriptor) }
  guard writeAll(bytes, to: descriptor) else {
    let error = FileError(path, "written")
    unlink(path)
    throw error
  }
}

/// Checks that lines of JSON can be appended to a file: there is none, or it has such lines.
func checkLines(_ path: String) throws {
  var status = stat()
  guard stat(path, &status) == 0 else { return }
  let isFile = status.st_mode & S_IFMT == S_IFREG
  let bytes = isFile && status.st_size > 0 ? try readFile(path) : []
  guard isFile, bytes.isEmpty || bytes.first == UInt8(ascii: "{") && bytes.last == UInt8(ascii: "\n") else {
    throw Failure("\(path) is there, and does not have lines of JSON. Name another file.")
  }
}

/// Appends to a file that only its owner may read.
func appendToFile(_ path: String, _ bytes: [UInt8]) throws {
  let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
  guard descriptor >= 0 else { throw FileError(path, "written") }
  defer { close(descriptor) }
  guard writeAll(bytes, to: descriptor) else { throw FileError(path, "written") }
}

/// Writes bytes to a descriptor; false if that fails.
func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
  var rest = bytes[...]
  while !rest.isEmpty {
    let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    if count < 0, errno == EINTR { continue }
    if count <= 0 { return false }
    rest = rest.dropFirst(count)
  }
  return true
}

/// Reads and checks a schema file.
func readSchema(_ path: String) throws -> SyncSchema {
  do { return try SyncSchema(json: try readFile(path)) } catch let error as SchemaError {
    throw Failure("\(path) does not hold together:\n\(error)")
  }
}
