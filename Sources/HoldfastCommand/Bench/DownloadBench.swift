import Foundation
import Holdfast

/// The first download of 100,000 records of 200 bytes over HTTP into an empty device, compared with raw SQLite inserting the same rows in
/// one transaction.
struct DownloadBench {
  let folder: URL
  let runs: Int
  let server: String
  let schema: SyncSchema
  private let count = 100_000

  init(folder: URL, runs: Int, server: String, schema: SyncSchema) {
    (self.folder, self.runs, self.server, self.schema) = (folder, runs, server, schema)
  }

  func measure() async throws -> Measurement.Result {
    let publisher = try await publish(as: "publisher")
    let rows = try await rows(of: publisher)
    var (rates, limits): ([Double], [Double]) = ([], [])
    for run in 0..<runs {
      limits.append(try await RawSQLite.insert(rows, in: folder, run: run))
      rates.append(try await download("device-\(run)", of: "publisher", snapshotsFrom: nil))
    }
    return .init(
      name: "records of 200 bytes into an empty device", rate: Measurement.median(rates),
      limitName: "raw SQLite, one transaction", limit: Measurement.median(limits), floor: nil, least: 100_000)
  }

  /// What a device does of it by itself, from the answers that another one got; until they are in the database, and can be read.
  func measureApplying() async throws -> Measurement.Result {
    let rows = try await rows(of: try await publish(as: "recorded"))
    guard let url = URL(string: server) else { throw BenchError(text: "no URL: \(server)") }
    let recording = RecordingTransport(HTTPTransport(server: url))
    _ = try await download("recording", of: "recorded", by: recording)
    var (rates, limits): ([Double], [Double]) = ([], [])
    for run in 0..<runs {
      limits.append(try await RawSQLite.insert(rows, in: folder, run: run))
      rates.append(
        try await download("replayed-\(run)", of: "recorded", by: ReplayTransport(recording.answers)))
    }
    return .init(
      name: "records of 200 bytes applied on a device", rate: Measurement.median(rates),
      limitName: "raw SQLite, one transaction", limit: Measurement.median(limits), floor: nil)
  }

  /// By how many bytes the memory of this process grows at the most while all arrives.
  func peak() async throws -> Double {
    _ = try await publish(as: "weighed")
    // From here on the peak is that of what follows: proc(5).
    try "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8)
    let before = try ResourceBench.memory("VmRSS", of: "self")
    _ = try await download("weighed-device", of: "weighed", snapshotsFrom: nil)
    return try ResourceBench.memory("VmHWM", of: "self") - before
  }

  /// The same with a snapshot that the server has already built, and with a seed. Each is compared with copying the snapshot's file, and
  /// with raw SQLite inserts.
  func measureSnapshot() async throws -> [Measurement.Result] {
    let rows = try await rows(of: try await publish(as: "shipper"))
    // The first download makes the server build the snapshot.
    _ = try await download("first", of: "shipper", snapshotsFrom: 5000)
    let seed = folder.appendingPathComponent("seed.db")
    try await makeSeed(seed)
    var (changes, snapshots, seeds) = ([Double](), [Double](), [Double]())
    var (copies, inserts) = ([Double](), [Double]())
    for run in 0..<runs {
      changes.append(try await download("changes-\(run)", of: "shipper", snapshotsFrom: nil))
      snapshots.append(try await download("snapshot-\(run)", of: "shipper", snapshotsFrom: 5000))
      let opening = await Measurement.seconds {
        _ = try? Store(
          path: folder.appendingPathComponent("seeded-\(run).db").path, schema: schema, seed: seed)
      }
      seeds.append(Double(count) / opening)
      copies.append(Double(count) / (try await Measurement.seconds { try copy(seed, run) }))
      inserts.append(try await RawSQLite.insert(rows, in: folder, run: run))
    }
    let (copied, inserted) = (Measurement.median(copies), Measurement.median(inserts))
    return [("by changes", changes), ("by snapshot", snapshots), ("from a seed", seeds)].flatMap {
      name, rates in
      [("a checked copy of the file", copied), ("raw SQLite, one transaction", inserted)].map { limit in
        Measurement.Result(
          name: "records of 200 bytes \(name)", rate: Measurement.median(rates), limitName: limit.0,
          limit: limit.1,
          floor: name == "by snapshot" && limit.0 == "a checked copy of the file" ? 0.15 : nil)
      }
    }
  }

  /// Copies a file, waits until it is on disk, and checks the copy.
  private func copy(_ file: URL, _ run: Int) throws {
    let copy = folder.appendingPathComponent("copy-\(run).db")
    _ = FileManager.default.createFile(atPath: copy.path, contents: nil)
    let (source, target) = (try FileHandle(forReadingFrom: file), try FileHandle(forWritingTo: copy))
    while let part = try source.read(upToCount: 1 << 20), !part.isEmpty { try target.write(contentsOf: part) }
    try target.synchronize()
    let checked = try SQLiteConnection(path: copy.path, access: .readOnly).value("PRAGMA quick_check")?.text
    guard checked == "ok" else { throw BenchError(text: "the copy is \(checked ?? "no database")") }
  }

  /// Saves the server's snapshot, as an app would ship it.
  private func makeSeed(_ seed: URL) async throws {
    let store = try Store(path: folder.appendingPathComponent("first.db").path, schema: schema)
    let zone = try await store.read { try $0.rows("SELECT id FROM lists").rows[0][0].text ?? "" }
    let token = try SQLiteConnection(path: folder.appendingPathComponent("first.db").path, access: .readOnly)
      .value("SELECT token FROM holdfast_local")?.text
    guard let url = URL(string: server) else { throw BenchError(text: "no URL: \(server)") }
    let answer = try await HTTPTransport(server: url).send(
      TransportRequest(method: "GET", path: "v1/zones/\(zone)/snapshot", token: token))
    guard answer.status == 200 else { throw BenchError(text: "the snapshot failed with \(answer.status)") }
    try Data(answer.body).write(to: seed)
  }

  /// Creates an account and its records, on a device of its own.
  private func publish(as name: String) async throws -> Store {
    let (publisher, engine) = try device(name, snapshotsFrom: nil)
    try await engine.signUp(name: name, password: "correct-horse", device: name)
    try await fill(publisher)
    try await engine.sync()
    return publisher
  }

  private func rows(of store: Store) async throws -> [[SQLiteValue]] {
    try await store.read { try $0.rows("SELECT id, list_id, title, done, note, position FROM items").rows }
  }

  /// Downloads everything into an empty device, and returns the records per second.
  private func download(_ name: String, of user: String, snapshotsFrom: Int?) async throws -> Double {
    let (store, engine) = try device(name, snapshotsFrom: snapshotsFrom)
    return try await download(name, of: user, store, engine)
  }

  /// The same page by page, over a transport.
  private func download(_ name: String, of user: String, by transport: any Transport) async throws -> Double {
    let store = try Store(path: folder.appendingPathComponent("\(name).db").path, schema: schema)
    let engine = SyncEngine(store: store, transport: transport, snapshotsFrom: nil)
    return try await download(name, of: user, store, engine)
  }

  private func download(
    _ name: String, of user: String, _ store: Store, _ engine: SyncEngine
  ) async throws -> Double {
    try await engine.signIn(name: user, password: "correct-horse", device: name)
    let seconds = try await Measurement.seconds { try await engine.sync() }
    let arrived = try await store.read { try $0.rows("SELECT count(*) FROM items").rows[0][0] }
    guard arrived == .integer(Int64(count)) else { throw BenchError(text: "\(arrived) items arrived") }
    return Double(count) / seconds
  }

  private func device(_ name: String, snapshotsFrom: Int?) throws -> (Store, SyncEngine) {
    guard let url = URL(string: server) else { throw BenchError(text: "no URL: \(server)") }
    let store = try Store(path: folder.appendingPathComponent("\(name).db").path, schema: schema)
    return (store, SyncEngine(store: store, server: url, snapshotsFrom: snapshotsFrom))
  }

  /// A record has 200 bytes: ids, reference, title, note and position.
  private func fill(_ store: Store) async throws {
    let list = try await store.write { db in
      let id = db.newID()
      try db.execute("INSERT INTO lists (id, title) VALUES (?, 'bench')", [.text(id)])
      return id
    }
    for batch in 0..<(count / 5000) {
      try await store.write { db in
        var last: String?
        for number in 0..<5000 {
          let position = try db.position(after: last, before: nil)
          last = position
          let title = "item number \(batch * 5000 + number)"
          let note = String(repeating: "n", count: max(0, 200 - 72 - title.utf8.count - position.utf8.count))
          try db.execute(
            "INSERT INTO items (id, list_id, title, done, note, position) VALUES (?, ?, ?, 0, ?, ?)",
            [.text(db.newID()), .text(list), .text(title), .text(note), .text(position)])
        }
      }
    }
  }
}
