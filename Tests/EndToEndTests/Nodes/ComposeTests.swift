import Foundation
import Testing

/// The files of `compose.yaml`, as far as they are read without Docker.
@Suite("Compose") struct ComposeTests {
  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../..").standardizedFileURL

  private func read(_ path: String) throws -> String {
    try String(contentsOf: Self.root.appendingPathComponent(path), encoding: .utf8)
  }

  @Test(
    "nginx has a line for each node that the profile starts, in a file that it takes",
    arguments: ["two", "three"])
  func nodes(profile: String) throws {
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let services = try read("compose.yaml").matches(
      of: /\n  (node[0-9]+):\n    <<: \*node\n(    profiles: \[three\]\n)?/)
    let started = services.filter { profile == "three" || $0.output.2 == nil }.map { String($0.output.1) }
    #expect(started.count == (profile == "three" ? 3 : 2))
    var lines = try read("deploy/compose-nodes-\(profile).conf")
    #expect(lines == started.map { "server \($0):8080 max_fails=0;\n" }.joined())
    // The names are those of Docker's network.
    for (number, name) in started.enumerated() {
      lines = lines.replacing("\(name):", with: "127.0.0.\(number + 1):")
    }
    let nodes = folder.appendingPathComponent("nodes.conf")
    try Data(lines.utf8).write(to: nodes)
    let text = try read("deploy/compose-nginx.conf").replacing(
      "/etc/nginx/holdfast-nodes.conf", with: nodes.path
    )
    .replacing("listen 8080;", with: "listen unix:\(folder.path)/socket;")
    let main = folder.appendingPathComponent("nginx.conf")
    try Data(RunningProxy.surroundings(text, folder).utf8).write(to: main)
    let process = Process()
    let errors = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/sbin/nginx")
    process.arguments = ["-t", "-p", folder.path, "-e", "\(folder.path)/log", "-c", main.path]
    process.standardError = errors
    try process.run()
    let said = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(said)")
  }
}
