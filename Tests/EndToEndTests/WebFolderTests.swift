import Foundation
import Testing

@Suite("The folder of a web app")
struct WebFolderTests {
  @Test("a start whose database or secrets are in the folder is refused, by any path (I10)")
  func secrets() throws {
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    func path(_ name: String) -> String { folder.appendingPathComponent(name).path }
    let files = FileManager.default
    try files.createDirectory(atPath: path("web/keys"), withIntermediateDirectories: true)
    try files.createDirectory(atPath: path("web-more"), withIntermediateDirectories: true)
    try files.createSymbolicLink(atPath: path("link"), withDestinationPath: "web")
    let secret = Data(String(repeating: "s", count: 40).utf8)
    try Data("{}".utf8).write(to: folder.appendingPathComponent("web/config.json"))
    for name in ["web/index.html", "web/keys/token", "token"] {
      try secret.write(to: folder.appendingPathComponent(name))
    }
    try (Data("anna a".utf8) + secret).write(to: folder.appendingPathComponent("web/keys/actions"))
    #expect(try Programs.run("holdfast", ["init", path("holdfast.json")]).status == 0)
    func serve(
      _ web: String, data: String, _ words: [String] = [], isCheck: Bool = true, config: String? = nil
    ) throws -> ProgramRun {
      try Programs.run(
        "holdfast",
        ["serve", "--schema", path("holdfast.json"), "--data", data, "--web", web, "--listen", "127.0.0.1:0"]
          + words + (isCheck ? ["--check"] : []),
        environment: config.map { ["HOLDFAST_CONFIG": $0] } ?? [:])
    }
    let (web, data) = (path("web"), path("data"))
    for other in [path("web/data"), path("web"), path("link/data"), path("web-more/../web/data")] {
      for isCheck in [true, false] {
        let run = try serve(web, data: other, isCheck: isCheck)
        #expect(run.status == 1)
        #expect(run.errors.contains("\(other) is in the folder of the web app"))
      }
    }
    #expect(!files.fileExists(atPath: path("web/data")))
    let inside = path("link/keys/token")
    let webhook = ["--webhook", "http://127.0.0.1:1/", "--webhook-secret"]
    for words in [
      ["--cache", path("web/cache")], ["--console", inside],
      ["--console", path("token"), "--console-actions", path("web/keys/actions")], webhook + [inside],
      ["--tls-cert", path("token"), "--tls-key", inside], ["--config", path("link/config.json")],
    ] {
      let run = try serve(web, data: data, words)
      #expect(run.status == 1)
      #expect(run.errors.contains("is in the folder of the web app"), "\(words)")
    }
    #expect(try serve(web, data: data, config: path("web/config.json")).status == 1)
    for other in [data, path("web-more/data")] {
      let run = try serve(web, data: other, ["--console", path("token")] + webhook + [path("token")])
      #expect(run.status == 0, "\(run.errors)")
    }
  }
}
