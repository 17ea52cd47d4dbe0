import Foundation
import TemporaryPostgres
import Testing

/// A proxy of `deploy/`, started as it stands, with only the addresses changed as its head says.
final class RunningProxy {
  enum Kind: String, CaseIterable {
    case haproxy
    case nginx
  }

  let port: Int
  private let process = Process()
  private let output: URL

  /// Starts it before some nodes, and returns when it has found one.
  init(_ kind: Kind, before nodes: [Int], in folder: URL) throws {
    port = try Self.freePort()
    output = folder.appendingPathComponent("\(kind.rawValue).log")
    try Data().write(to: output)
    let deploy = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
      "../../../deploy"
    ).standardizedFileURL
    process.executableURL = URL(fileURLWithPath: "/usr/sbin/\(kind.rawValue)")
    switch kind {
    case .haproxy:
      process.arguments = ["-db", "-f", deploy.appendingPathComponent("haproxy.cfg").path]
      process.environment = ["HOLDFAST_BIND": "127.0.0.1:\(port)"]
      for (number, node) in nodes.enumerated() {
        process.environment?["HOLDFAST_NODE_\(number + 1)"] = "127.0.0.1:\(node)"
      }
    case .nginx:
      var text = try String(contentsOf: deploy.appendingPathComponent("nginx.conf"), encoding: .utf8)
      for (number, node) in nodes.enumerated() {
        text = text.replacingOccurrences(
          of: "server 127.0.0.1:808\(number + 1) ", with: "server 127.0.0.1:\(node) ")
      }
      text = text.replacingOccurrences(of: "listen 127.0.0.1:8080;", with: "listen 127.0.0.1:\(port);")
      let main = folder.appendingPathComponent("nginx-main.conf")
      try Data(Self.surroundings(text, folder).utf8).write(to: main)
      process.arguments = ["-p", folder.path, "-e", output.path, "-c", main.path]
    }
    let log = try FileHandle(forWritingTo: output)
    process.standardOutput = log
    process.standardError = log
    try process.run()
    try blockUntil {
      try #require(process.isRunning, "\((try? String(contentsOf: output, encoding: .utf8)) ?? "")")
      return try Self.curl(["--output", "/dev/null", "http://127.0.0.1:\(port)/readyz"]).status == 200
    }
  }

  deinit {
    // Not SIGTERM, which threads of Swift's pools, and so the programs that they start, have blocked. nginx's workers go with their master.
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
  }

  /// What Debian's own nginx.conf is around files of conf.d.
  static func surroundings(_ text: String, _ folder: URL) -> String {
    """
    daemon off;
    master_process off;
    pid \(folder.path)/nginx.pid;
    events { worker_connections 1000; }
    http {
      access_log off;
      client_body_temp_path \(folder.path)/bodies;
      proxy_temp_path \(folder.path)/proxied;
      fastcgi_temp_path \(folder.path)/fastcgi;
      uwsgi_temp_path \(folder.path)/uwsgi;
      scgi_temp_path \(folder.path)/scgi;
    \(text)
    }
    """
  }

  var address: URL { URL(string: "http://127.0.0.1:\(port)") ?? output }

  /// Asks over the proxy as somebody at an address of this machine.
  func ask(_ path: String, from source: String = "127.0.0.1", _ options: String...) throws -> (
    status: Int, body: String
  ) {
    try Self.curl(["--interface", source, "http://127.0.0.1:\(port)\(path)"] + options)
  }

  private static func curl(_ arguments: [String]) throws -> (status: Int, body: String) {
    let run = Process()
    let output = Pipe()
    run.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    run.arguments = ["curl", "--silent", "--max-time", "60", "--write-out", "\n%{http_code}"] + arguments
    run.standardOutput = output
    run.standardError = FileHandle.nullDevice
    try run.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    run.waitUntilExit()
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    return (Int(lines.last ?? "") ?? 0, lines.dropLast().joined(separator: "\n"))
  }

  /// A port that nobody has at this moment.
  private static func freePort() throws -> Int {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(socket) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, length) == 0 && getsockname(socket, $0, &length) == 0
      }
    }
    try #require(isBound)
    return Int(UInt16(bigEndian: address.sin_port))
  }
}
