import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// The endpoint of snapshots: docs/SNAPSHOTS.md.
struct SnapshotRoutes {
  let api: API

  /// `GET /v1/zones/{zone}/snapshot`; see docs/SNAPSHOTS.md, section 2.
  func snapshot(_ request: HTTPRequest, of zone: String) throws -> Step {
    guard let snapshots = api.snapshots else { throw Problem(.notFound) }
    let state = try readable(zone, by: request)
    if let answer = try continued(request, of: state, snapshots) { return .answer(answer) }
    if request.headers["If-None-Match"].flatMap({ EntityTag.List($0) }) == .any {
      return .answer(HTTPResponse(status: 304, headers: Self.validity))
    }
    if let known = Self.known(request.headers["If-None-Match"], state: state, snapshots.key(zone)) {
      return .answer(HTTPResponse(status: 304, headers: Self.headers(known)))
    }
    if let snapshot = snapshots.cache.latest(snapshots.key(zone), atLeast: state.seq),
      let answer = answer(request, snapshot, snapshots)
    {
      return .answer(answer)
    }
    return .build { [self] in
      do {
        let snapshot = try snapshots.snapshot(of: zone, atLeast: state.seq)
        // Access may have been revoked during the build.
        _ = try readable(zone, by: request)
        guard let answer = answer(request, snapshot, snapshots) else { throw Problem(.busy, retryAfter: 1) }
        return .answer(answer)
      } catch { return .problem(api.problem(of: error)) }
    }
  }

  /// The zone, if the device may read it.
  ///
  /// - Throws: `Problem`: `tokenMissing`, `tokenInvalid` or `notFound`.
  private func readable(_ zone: String, by request: HTTPRequest) throws -> ZoneProgress {
    try api.read { reader in
      try reader.store.transaction {
        let (key, store) = try api.sender(of: request, reader)
        try ZoneRoutes(api: api).requireAllTables(key)
        // PostgreSQL rejects U+0000 in a text.
        if zone.utf8.count > 64 || zone.utf8.contains(0) { throw Problem(.notFound) }
        return try store.readable(zone, by: key.user)
      }
    }
  }

  /// Continues the download of a file that the request names by ETag, even of an older state. Nil if it names no cached file.
  ///
  /// - Throws: `Problem.preconditionFailed` if If-Match names only other files.
  private func continued(
    _ request: HTTPRequest, of state: ZoneProgress, _ snapshots: Snapshots
  ) throws -> HTTPResponse? {
    let key = snapshots.key(state.zone)
    if let list = request.headers["If-Match"].map({ EntityTag.List($0) ?? .tags([]) }), list != .any {
      for tag in list.tags {
        guard let (snapshot, coding) = snapshots.cache.snapshot(key, tag: tag.text),
          snapshot.seq >= state.purged,
          let answer = send(request, snapshot, coding)
        else { continue }
        return answer
      }
      throw Problem(.preconditionFailed, "This snapshot is not kept any more.")
    }
    guard request.headers["Range"] != nil, let tag = request.headers["If-Range"],
      let (snapshot, coding) = snapshots.cache.snapshot(key, tag: tag), snapshot.seq >= state.purged
    else { return nil }
    return send(request, snapshot, coding)
  }

  /// Answers with a snapshot in a coding that the client accepts; nil if its file is gone.
  private func answer(_ request: HTTPRequest, _ snapshot: Snapshot, _ snapshots: Snapshots) -> HTTPResponse? {
    let coding: SnapshotCoding =
      request.acceptsCoding("zstd") ? .zstd : .identity
    if let answer = send(request, snapshot, coding) { return answer }
    snapshots.cache.remove(snapshot)
    return nil
  }

  private func send(_ request: HTTPRequest, _ snapshot: Snapshot, _ coding: SnapshotCoding) -> HTTPResponse? {
    guard let form = snapshot.forms[coding], let file = HTTPFile(path: form.path), file.size == form.size
    else { return nil }
    let tag = snapshot.tag(coding)
    var headers = Self.headers(tag)
    headers.append(("Accept-Ranges", "bytes"))
    // If-Range with another file's ETag: send this file whole. Without If-Range, the range applies to this file.
    let isMeant = request.headers["If-Range"].map { $0 == tag } ?? true
    var bytes = 0..<file.size
    var isPart = false
    if isMeant, let range = request.headers["Range"].flatMap({ ByteRange($0) }) {
      guard let asked = range.bytes(of: file.size) else {
        var answer = HTTPResponse.problem(Problem(.rangeNotSatisfiable))
        answer.headers.append(("Content-Range", "bytes */\(file.size)"))
        return answer
      }
      (bytes, isPart) = (asked, true)
    }
    headers.append(("Content-Type", "application/vnd.sqlite3"))
    headers.append(("Repr-Digest", "sha-256=:\(Base64.text(form.digest.bytes)):"))
    if coding == .zstd { headers.append(("Content-Encoding", "zstd")) }
    if isPart {
      headers.append(("Content-Range", "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(file.size)"))
    }
    return HTTPResponse(status: isPart ? 206 : 200, headers: headers, file: .init(file, bytes))
  }

  private static func headers(_ tag: String) -> [(name: String, value: String)] {
    [("ETag", tag)] + validity
  }

  private static var validity: [(name: String, value: String)] {
    [("Cache-Control", "private, no-cache"), ("Vary", "Authorization, Accept-Encoding")]
  }

  /// The ETag in a list that names the zone's current state, in any coding; nil if there is none.
  private static func known(_ field: String?, state: ZoneProgress, _ key: SnapshotKey) -> String? {
    let now = Snapshot(key: key, seq: state.seq, forms: [:]).state
    let tags = field.flatMap { EntityTag.List($0) }?.tags ?? []
    return tags.first { $0.opaque.hasPrefix("\(now)-") }.map { "\"\($0.opaque)\"" }
  }
}
