import Foundation
import HoldfastCore
import HoldfastHTTP
import HoldfastServer
import HostileServer
import Testing

@Suite("Backups in a bucket")
struct BucketBackupTests {
  private let folder: URL
  private let store: ObjectStore
  private let place = "s3://backups/shop/daily"

  init() throws {
    folder = try Programs.makeFolder()
    store = try ObjectStore()
    _ = try InlineServer(
      .directory(folder.appendingPathComponent("data").path), schema: try Scene.schema(),
      environment: .system)
    try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: false)
  }

  private var scratch: URL { folder.appendingPathComponent("scratch") }

  private func environment(_ data: String = "data") -> [String: String] {
    [
      "AWS_ACCESS_KEY_ID": "KEY", "AWS_SECRET_ACCESS_KEY": "a/secret+of=it", "TMPDIR": scratch.path,
      "HOLDFAST_S3_ENDPOINT": store.address, "HOLDFAST_DATA": folder.appendingPathComponent(data).path,
    ]
  }

  private func run(_ words: String..., data: String = "data", changed: [String: String] = [:]) throws
    -> ProgramRun
  { try run(words, data: data, changed: changed) }

  private func run(_ words: [String], data: String = "data", changed: [String: String] = [:]) throws
    -> ProgramRun
  {
    let run = try Programs.run("holdfast", words, environment: environment(data).merging(changed) { $1 })
    // Nothing stays of what was made on the way.
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path).isEmpty)
    return run
  }

  /// Makes a backup.
  ///
  /// - Returns: its name.
  private func backUp(keep: Int = 14) throws -> String {
    let run = try run("backup", "--to", place, "--keep", "\(keep)")
    try #require(run.status == 0, "\(run.errors)")
    return String(run.output.prefix { $0 != "," }.split(separator: " ")[0].dropLast())
  }

  @Test("the latest backups are kept, each verified, and nothing else in the bucket is touched (I2)")
  func kept() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let others = [
      "backups/shop/daily/notes.txt", "backups/shop/holdfast-2020-01-01T00-00-00.000Z.backup",
      "backups/shop/daily/x/holdfast-2020-01-01T00-00-00.000Z.backup",
      "backups/shop/daily/holdfast-mine.backup",
    ]
    for path in others { store.put(path, [1]) }
    let names = try (0..<4).map { _ in try backUp(keep: 2) }
    #expect(Set(names).count == 4)
    let left = store.objects.keys.filter { !others.contains($0) }.sorted()
    #expect(left == names.suffix(2).map { "backups" + $0.dropFirst("s3://backups".count) }.sorted())
    #expect(others.allSatisfy { store.objects[$0] == [1] })
    #expect(store.requests.allSatisfy { $0.headers["Authorization"]?.hasPrefix("AWS4-HMAC-SHA256 ") == true })
    #expect(store.requests.allSatisfy { $0.headers["Authorization"]?.contains("a/secret") == false })
  }

  @Test("a backup is verified and restored from the bucket")
  func restored() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let name = try backUp()
    #expect(try run("backup", "--verify", name).status == 0)
    let restored = try run("restore", name, data: "restored")
    #expect(restored.status == 0, "\(restored.errors)")
    #expect(try run("doctor", data: "restored").status == 0)
    #expect(try run("backup", "--verify", name + "x").errors.contains("There is no \(name)x"))
  }

  @Test("a name with odd characters is one name (RFC 3986)")
  func odd() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let odd = "s3://backups/a b+c&d=é%20#?~(1)"
    for _ in 0..<2 { try #require(run("backup", "--to", odd, "--keep", "1").status == 0) }
    let path = try #require(store.objects.keys.first)
    #expect(store.objects.count == 1)
    #expect(path.hasPrefix("backups/a b+c&d=é%20#?~(1)/holdfast-"))
    #expect(try run("backup", "--verify", "s3://" + path).status == 0)
  }

  @Test(
    "a store that fails fails the backup with a reason, and no old one is removed (I2)",
    arguments: [
      (500, "InternalError", "answered for s3://backups/shop/daily/holdfast-"),
      (503, "SlowDown", "503 SlowDown It <is> SlowDown."),
      (403, "SignatureDoesNotMatch", "AWS_SECRET_ACCESS_KEY"),
      (404, "NoSuchBucket", "has no bucket backups. Make it, or name another one."),
      (301, "PermanentRedirect", "301 PermanentRedirect"),
    ], ["PUT", "GET", "DELETE"])
  func failing(problem: (status: Int, code: String, said: String), method: String) throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let old = try backUp()
    store.fail { request in
      request.method == method ? ObjectStore.problem(problem.status, problem.code) : nil
    }
    let run = try run("backup", "--to", place, "--keep", "1")
    #expect(run.status == 1)
    #expect(run.errors.contains(problem.said), "\(run.errors)")
    #expect(store.objects[String(old.dropFirst("s3://".count))] != nil)
    let log = try self.run("audit", "--limit", "1").output
    // The backup itself is good where only the old one can't be removed.
    #expect(log.contains(method == "DELETE" ? "Verified" : "backup failed"), "\(log)")
  }

  @Test("what a store has kept of a backup that it refused does not count, and is removed (I2)")
  func refusedAndKept() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let old = String(try backUp().dropFirst("s3://".count))
    store.failAfterwards { $0.method == "PUT" ? ObjectStore.problem(500, "InternalError") : nil }
    for _ in 0..<3 { #expect(try run("backup", "--to", place, "--keep", "2").status == 1) }
    #expect(store.objects.keys.sorted() == [old])
  }

  @Test("a store that lists names twice, or not at all, costs no backup (I2)")
  func oddListings() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    _ = try backUp()
    store.listTwice()
    for _ in 0..<2 { _ = try backUp(keep: 2) }
    #expect(store.objects.count == 2)
    store.fail { request in
      request.query.isEmpty
        ? nil : HTTPResponse(status: 200, body: Array("<ListBucketResult></ListBucketResult>".utf8))
    }
    let run = try run("backup", "--to", place, "--keep", "1")
    #expect(run.status == 1 && run.errors.contains("is not listed"), "\(run.errors)")
    #expect(store.objects.count == 3)
  }

  @Test("what comes back cut off or altered counts as no backup, is removed, and no old one is (I2)")
  func altered() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let old = try backUp()
    let path = String(old.dropFirst("s3://".count))
    let good = try #require(store.objects[path])
    var flipped = good
    flipped[good.count / 2] ^= 1
    // A whole backup too, but another one.
    for wrong in [Array(good.prefix(good.count - 1)), Array(good.prefix(7)), [], flipped] {
      store.fail { request in
        request.method == "GET" && request.query.isEmpty ? HTTPResponse(status: 200, body: wrong) : nil
      }
      let run = try run("backup", "--to", place, "--keep", "1")
      #expect(run.status == 1)
      #expect(run.errors.contains(place) && !run.errors.contains(scratch.path), "\(run.errors)")
      #expect(store.objects.keys.sorted() == [path])
      #expect(try self.run("restore", old, data: "restored").status == 1)
    }
  }

  @Test("without a folder for temporary files nothing is sent, and the error says what to do")
  func noFolder() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try FileManager.default.removeItem(at: scratch)
    let run = try Programs.run("holdfast", ["backup", "--to", place], environment: environment())
    #expect(run.status == 1)
    #expect(run.errors.contains("so set TMPDIR to another folder: No such file"), "\(run.errors)")
    #expect(store.requests.isEmpty)
  }

  @Test(
    "an object without a size, longer than it says, or too large for the disk is not waited for",
    arguments: [
      ("", "did not say the size of s3://backups/a"),
      ("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "s3://backups/a is larger than it says"),
      ("Content-Length: 4000000000000000\r\n", "Free some space, or set TMPDIR to another folder."),
    ])
  func endless(fields: String, said: String) throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let head = Array("HTTP/1.1 200 OK\r\n\(fields)\r\n".utf8)
    let endless = try HostileServer([.endless(head, Array("8\r\nabcdefgh\r\n".utf8))])
    defer { endless.stop() }
    let run = try run(
      "backup", "--verify", "s3://backups/a", changed: ["HOLDFAST_S3_ENDPOINT": endless.url])
    #expect(run.status == 1 && run.errors.contains(said), "\(run.errors)")
  }

  @Test(
    "what a killed command left in the folder for temporary files is removed, and nothing of one that runs")
  func leftovers() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let (killed, running) = (
      scratch.path + "/holdfast-backup-killed", scratch.path + "/holdfast-backup-running"
    )
    for path in [killed, running] {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      try Data("x".utf8).write(to: URL(fileURLWithPath: path + "/backup"))
    }
    let lock = open(running, O_RDONLY | O_CLOEXEC)
    #expect(flock(lock, LOCK_EX) == 0)
    #expect(try Programs.run("holdfast", ["backup", "--to", place], environment: environment()).status == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == ["holdfast-backup-running"])
    #expect(FileManager.default.fileExists(atPath: running + "/backup"))
    close(lock)
    _ = try backUp()
  }

  @Test(
    "a store of another region is named with the region to set",
    arguments: [
      ObjectStore.problem(301, "PermanentRedirect", headers: [("x-amz-bucket-region", "eu-west-3")]),
      ObjectStore.problem(400, "AuthorizationHeaderMalformed", more: "<Region>eu-west-3</Region>"),
    ])
  func region(answer: HTTPResponse) throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    store.fail { _ in answer }
    let run = try run("backup", "--to", place)
    #expect(run.status == 1 && run.errors.contains("Set AWS_REGION to eu-west-3,"), "\(run.errors)")
  }

  @Test("a listing that is none, or has no end, removes nothing")
  func listings() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    _ = try backUp()
    let endless =
      "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>a</NextContinuationToken></ListBucketResult>"
    for (text, said) in [("<html></html>", "answered no listing"), (endless, "has no end of the names")] {
      store.fail { request in
        request.query.isEmpty ? nil : HTTPResponse(status: 200, body: Array(text.utf8))
      }
      let run = try run("backup", "--to", place, "--keep", "1")
      #expect(run.status == 1 && run.errors.contains(said), "\(run.errors)")
    }
    #expect(store.objects.count == 3)
  }

  @Test(
    "a wrong command line is refused before anything is sent",
    arguments: [
      (["--to", "backups"], [:]), (["--to", "s3://"], [:]), (["--to", "s3://UPPER/x"], [:]),
      (["--to", "s3://backups/a/../b"], [:]), (["--to", "s3://backups//a"], [:]),
      (["--to", "s3://backups/" + String(repeating: "x", count: 900)], [:]),
      (["--to", "s3://backups/a", "--folder", "b"], [:]), (["s3://backups/a"], [:]),
      (["--verify", "s3://backups"], [:]), (["--to", "s3://backups/a", "--keep", "0"], [:]),
      (["--to", "s3://backups/a"], ["AWS_ACCESS_KEY_ID": ""]),
      (["--to", "s3://backups/a"], ["AWS_SECRET_ACCESS_KEY": "two\nlines"]),
      (["--to", "s3://backups/a"], ["AWS_REGION": "eu/x"]),
      (["--to", "s3://backups/a"], ["HOLDFAST_S3_ENDPOINT": "ftp://example.org"]),
      (["--to", "s3://backups/a"], ["HOLDFAST_S3_ENDPOINT": "https://example.org/path"]),
      (["--to", "s3://backups/a"], ["HOLDFAST_S3_ENDPOINT": "https://user:secret@example.org"]),
    ] as [([String], [String: String])])
  func refused(words: [String], changed: [String: String]) throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let run = try run(["backup"] + words, changed: changed)
    #expect(run.status == 64, "\(run.errors)")
    #expect(!run.errors.contains("secret"))
    #expect(store.requests.isEmpty)
  }
}
