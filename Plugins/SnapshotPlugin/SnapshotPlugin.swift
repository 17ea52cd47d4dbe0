import Foundation
import PackagePlugin

/// `swift package snapshot`: refreshes the snapshot that an app ships. It needs no target of this package, so that an app builds nothing for it.
@main
struct SnapshotPlugin: CommandPlugin {
  static let usage = """
    Usage: swift package --allow-writing-to-package-directory snapshot --output FILE SOURCE

    Refreshes the snapshot FILE, which is replaced when the new one is whole. Another file is never replaced. SOURCE is one of:
      --url URL [--token-file FILE]   downloads, such as https://sync.example.org/v1/zones/catalogue/snapshot,
                                      with the token of a session; add --allow-network-connections all.
                                      FILE.etag keeps what it was, so that nothing is sent when nothing is new
      any options of `holdfast snapshot`, such as --data DIR --public; runs $HOLDFAST, or holdfast on the PATH
    """

  func performCommand(context: PluginContext, arguments: [String]) throws {
    var extractor = ArgumentExtractor(arguments)
    if extractor.extractFlag(named: "help") > 0 { return print(Self.usage) }
    guard let output = extractor.extractOption(named: "output").last else { throw Failure(Self.usage) }
    let file = URL(filePath: output, relativeTo: context.package.directoryURL)
    if let url = extractor.extractOption(named: "url").last {
      try download(url, token: extractor.extractOption(named: "token-file").last, to: file)
    } else {
      let holdfast = ProcessInfo.processInfo.environment["HOLDFAST"] ?? "holdfast"
      try run([holdfast, "snapshot", "--output", file.path] + extractor.remainingArguments)
    }
  }

  /// Downloads to a file beside the one that is there, and takes its place when it is whole.
  private func download(_ url: String, token: String?, to file: URL) throws {
    guard try isReplaceable(file) else {
      throw Failure("\(file.path) is there, and is no snapshot. Name another file.")
    }
    let (new, etag) = (file.path + ".new", file.path + ".etag")
    defer { try? FileManager.default.removeItem(atPath: new) }
    var words = [
      "curl", "--fail", "--silent", "--show-error", "--location", "--retry", "3", "--output", new,
      "--etag-save", etag + ".new",
    ]
    if FileManager.default.fileExists(atPath: file.path), FileManager.default.fileExists(atPath: etag) {
      words += ["--etag-compare", etag]
    }
    defer { try? FileManager.default.removeItem(atPath: etag + ".new") }
    var input: Data?
    if let token {
      // Through the standard input, as other users see the words of a command.
      let text = try String(contentsOfFile: token, encoding: .utf8).trimmingCharacters(
        in: .whitespacesAndNewlines)
      input = Data("header = \"Authorization: Bearer \(text)\"\n".utf8)
      words += ["--config", "-"]
    }
    try run(words + ["--url", url], input: input)
    guard let handle = FileHandle(forReadingAtPath: new) else { return print("\(file.path) is up to date.") }
    let head = try handle.read(upToCount: 16)
    try handle.close()
    // Nothing comes when nothing is new.
    guard let head, !head.isEmpty else { return print("\(file.path) is up to date.") }
    guard head == Data("SQLite format 3\0".utf8) else { throw Failure("What came is no snapshot.") }
    guard rename(new, file.path) == 0, rename(etag + ".new", etag) == 0 else {
      throw Failure("\(file.path) can't be written.")
    }
    print("\(file.path) is refreshed.")
  }

  /// Whether there is no file, an empty one or a snapshot, by the header. A device's database has a write-ahead log, and a snapshot none.
  private func isReplaceable(_ file: URL) throws -> Bool {
    let files = FileManager.default
    guard files.fileExists(atPath: file.path) else { return true }
    if files.fileExists(atPath: file.path + "-wal") { return false }
    let handle = try FileHandle(forReadingFrom: file)
    defer { try? handle.close() }
    let header = [UInt8](try handle.read(upToCount: 100) ?? Data())
    return header.isEmpty
      || header.count == 100 && header.starts(with: "SQLite format 3\0".utf8) && header[18...19] == [1, 1]
        && header[68..<72] == Self.applicationID[...]
  }

  /// The `application_id` of a device's database and of a snapshot.
  private static let applicationID: [UInt8] = [0x48, 0x66, 0x44, 0x76]

  private func run(_ words: [String], input: Data? = nil) throws {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = words
    let pipe = Pipe()
    process.standardInput = pipe
    try process.run()
    if let input { try pipe.fileHandleForWriting.write(contentsOf: input) }
    try pipe.fileHandleForWriting.close()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Failure("\(words[0]) failed; the file is as it was.") }
  }

  private struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
  }
}
