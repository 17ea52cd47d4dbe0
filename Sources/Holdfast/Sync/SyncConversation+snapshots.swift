import Foundation
import HoldfastCore

/// A request for a stretch of a zone's snapshot, and what must be remembered of it until its answer is heard.
package struct SnapshotQuestion: Sendable {
  let zone: String
  let device: String
  let token: String
  /// What was here of it; nil when it begins.
  let progress: SnapshotProgress?
}

/// Which zone comes as a snapshot, and which do not.
package struct SnapshotDownload: Sendable {
  /// The number of changes beyond which a zone that is new here comes as a snapshot.
  package static let threshold = 5000
  /// How many bytes are asked for at once: two such stretches are in memory, and what is edited meanwhile waits for one.
  static let stretch: Int64 = 8 << 20
  /// How often a snapshot is begun that the server does not keep to its end.
  static let attempts = 3

  var threshold: Int?
  /// The zone that comes as a snapshot, and how many changes it has.
  var zone: String?
  var changes = 0
  /// The snapshot that is being written.
  var writing: SnapshotWriting?
  /// The zones whose snapshots are of no use: they come in pages as long as this engine is there.
  private var refused: TextSet = []
  private var begun: TextMap<Int> = [:]

  /// The threshold, while it holds for every zone.
  var ofAll: Int? { refused.isEmpty ? threshold : nil }

  func prefers(_ zone: String, changes: Int64) -> Bool {
    threshold.map { changes > $0 } == true && !refused.contains(zone)
  }

  /// From now on the zone comes in pages.
  mutating func refuse(_ zone: String) { refused.insert(zone) }

  /// Waits for what is being written: nothing comes behind it.
  mutating func stopWriting() {
    try? writing?.wait()
    writing = nil
  }

  /// Whether the zone's snapshot may be begun once more.
  mutating func mayBegin(_ zone: String) -> Bool {
    begun[zone, default: 0] += 1
    return begun[zone, default: 0] <= Self.attempts
  }
}

/// Downloading a large zone as a snapshot. See docs/SNAPSHOTS.md, section 4.
extension SyncConversation {
  func askForSnapshot(_ database: LocalDatabase) {
    do {
      let state = try database.state()
      guard let zone = download.zone, let files = database.snapshots, let device = state.device,
        let token = try database.sessionToken()
      else { return run(.downloaded(isLast: true), database) }
      if download.writing?.zone != zone {
        download.writing = files.progress(zone).map { SnapshotWriting(zone, $0, in: files) }
      }
      var progress = download.writing?.progress
      if let found = progress, found.size >= found.total {
        // It came whole, and the process ended before it was applied.
        if found.size == found.total {
          let question = SnapshotQuestion(zone: zone, device: device, token: token, progress: found)
          if let event = try finish(question, files, database) { run(event, database) }
          return
        }
        remove(zone, files)
        progress = nil
      }
      let first = progress?.size ?? 0
      var headers: TextMap = [
        "Range": "bytes=\(first)-\(first + SnapshotDownload.stretch - 1)", "Accept-Encoding": "identity",
        "Accept": "application/vnd.sqlite3",
      ]
      // Not If-Range, which would bring all of another file.
      if let progress { headers["If-Match"] = progress.tag }
      let request = TransportRequest(
        method: "GET", path: "v1/zones/\(zone.percentEncoded)/snapshot", token: token, headers: headers)
      effects.append(
        .send(
          request, .snapshot(SnapshotQuestion(zone: zone, device: device, token: token, progress: progress))))
    } catch {
      download.stopWriting()
      run(.failed(later(error)), database)
    }
  }

  func snapshot(
    _ answer: Result<TransportAnswer, StoreError>, _ question: SnapshotQuestion, _ database: LocalDatabase
  ) -> SyncMachine.Event? {
    do {
      let answer = try answer.get()
      // What is said to an identity that was replaced meanwhile does not concern the one of now.
      guard try database.sessionToken() == question.token, let files = database.snapshots else {
        Trace.took(.engineReplaced)
        return .downloaded(isLast: true)
      }
      switch answer.status {
      case 206: return try take(answer, question, files, database)
      case 401 where answer.endsSession:
        refusedToken = question.token
        return .failed(.expired)
      case 401: return .failed(.later(reason: answer.reason, retryAfter: answer.retryAfter))
      case 412 where question.progress != nil && download.mayBegin(question.zone):
        remove(question.zone, files)
        return .downloaded(isLast: false)
      default: return abandon(question.zone, files)
      }
    } catch {
      download.stopWriting()
      return .failed(later(error))
    }
  }

  private func remove(_ zone: String, _ files: SnapshotDownloads) {
    download.stopWriting()
    files.remove(zone)
  }

  /// The zone comes in pages, as if there were no snapshots.
  private func abandon(_ zone: String, _ files: SnapshotDownloads) -> SyncMachine.Event {
    remove(zone, files)
    download.refuse(zone)
    return .downloaded(isLast: true)
  }

  private func take(
    _ answer: TransportAnswer, _ question: SnapshotQuestion, _ files: SnapshotDownloads,
    _ database: LocalDatabase
  ) throws -> SyncMachine.Event? {
    let zone = question.zone
    guard let begun = SnapshotProgress(answer, after: question.progress),
      question.progress != nil || files.hasRoom(for: begun.total)
    else { return abandon(zone, files) }
    if question.progress == nil {
      download.stopWriting()
      try files.begin(zone, begun)
      download.writing = SnapshotWriting(zone, begun, in: files)
    } else {
      try download.writing?.wait()
    }
    guard let writing = download.writing, writing.zone == zone, writing.progress == begun,
      files.progress(zone) == begun
    else {
      // Another process goes on with the same file.
      download.stopWriting()
      return .downloaded(isLast: false)
    }
    try writing.add(answer.body)
    let progress = writing.progress
    if progress.size == progress.total { return try finish(question, files, database) }
    let done = Double(download.changes) * Double(progress.size) / Double(progress.total)
    effects.append(
      .publish(.downloading(done: summary.received + Int(done), total: summary.received + download.changes)))
    return .downloaded(isLast: false)
  }

  /// Checks a snapshot that is whole, and installs or applies it.
  ///
  /// - Returns: nil when it is being installed.
  private func finish(
    _ question: SnapshotQuestion, _ files: SnapshotDownloads, _ database: LocalDatabase
  ) throws -> SyncMachine.Event? {
    let writing = download.writing
    download.writing = nil
    guard try writing?.isIntact() == true else { return abandon(question.zone, files) }
    return try concluding(question, files) {
      let installing = try SnapshotInstalling(
        of: question.zone, for: database, files: files, device: question.device)
      guard let installing else { return try apply(question, files, database) }
      effects.append(.install(installing, question))
      return nil
    }
  }

  /// A snapshot was installed; or it was not, and its records are copied.
  func installed(
    _ result: Result<Int?, any Error>, _ question: SnapshotQuestion, in database: LocalDatabase
  ) -> [Effect] {
    collect(database) {
      guard let files = database.snapshots else { return }
      do {
        let event = try concluding(question, files) {
          guard let count = try result.get() else { return try apply(question, files, database) }
          return done(question, files, count)
        }
        if let event { run(event, database) }
      } catch {
        run(.failed(later(error)), database)
      }
    }
  }

  private func apply(
    _ question: SnapshotQuestion, _ files: SnapshotDownloads, _ database: LocalDatabase
  ) throws -> SyncMachine.Event {
    let count = try SnapshotApplying(database: database).apply(
      snapshot: files.file(question.zone).path, of: question.zone, device: question.device)
    return done(question, files, count ?? 0)
  }

  private func done(
    _ question: SnapshotQuestion, _ files: SnapshotDownloads, _ count: Int
  ) -> SyncMachine.Event {
    summary.received += count
    files.remove(question.zone)
    return .downloaded(isLast: true)
  }

  /// Runs `body`, which ends a download, and goes on after an error that the snapshot is at fault for.
  private func concluding(
    _ question: SnapshotQuestion, _ files: SnapshotDownloads, _ body: () throws -> SyncMachine.Event?
  ) throws -> SyncMachine.Event? {
    do { return try body() } catch Inapplicable.outdated {
      Trace.took(.engineReplaced)
      return done(question, files, 0)
    } catch let error as SQLiteError where [.full, .ioError, .busy].contains(error.code.primary) {
      // It stays for the next time.
      throw error
    } catch let error as StoreError {
      // Nor is this device's own file the snapshot's fault.
      throw error
    } catch {
      return abandon(question.zone, files)
    }
  }
}

extension SnapshotProgress {
  /// What an answer says of the file; nil when it is not the stretch that was asked for.
  fileprivate init?(_ answer: TransportAnswer, after before: SnapshotProgress?) {
    guard let tag = answer.headers["etag"], let range = answer.headers["content-range"],
      let digest = answer.headers["repr-digest"], digest.hasPrefix("sha-256=:"), digest.hasSuffix(":")
    else { return nil }
    // `bytes 0-99/200`
    let parts = range.split { " -/".contains($0) }
    guard parts.count == 4, parts[0] == "bytes", let first = Int64(parts[1]), let last = Int64(parts[2]),
      let total = Int64(parts[3]), first == before?.size ?? 0, last >= first, last < total,
      last - first + 1 == Int64(answer.body.count)
    else { return nil }
    self.init(tag: tag, digest: String(digest.dropFirst(9).dropLast()), total: total, size: first)
    if let before, before != self { return nil }
  }
}
