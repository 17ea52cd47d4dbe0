import CWebClient
import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// Files for browsers: the JavaScript client at `/client/`, and the folder of an app at all paths that the protocol does not have. See docs/WEB.md.
struct WebFiles: Sendable {
  /// What a browser is let do with them: nothing but what comes from here.
  ///
  /// - Parameter origins: further origins to which pages may connect.
  static func policy(connectingTo origins: TextSet) -> String {
    let sources = (["'self'"] + origins.sorted()).joined(separator: " ")
    return
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src \(sources); manifest-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
  }

  /// Larger files are not served: compressing one reads it whole.
  static let sizeLimit: Int64 = 16 << 20

  private static let types: TextMap<String> = [
    "html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8",
    "mjs": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "json": "application/json",
    "webmanifest": "application/manifest+json", "svg": "image/svg+xml", "png": "image/png",
    "jpg": "image/jpeg", "webp": "image/webp", "ico": "image/vnd.microsoft.icon", "woff2": "font/woff2",
    "txt": "text/plain; charset=utf-8", "wasm": "application/wasm",
  ]

  /// The client's files, by their paths below `/client/`.
  static let client = embedded(web_client_file_count(), web_client_file)

  /// Files in the program, by their paths.
  static func embedded(_ count: Int, _ file: (Int) -> web_client_file) -> TextMap<HTTPResponse> {
    var files: TextMap<HTTPResponse> = [:]
    for index in 0..<count {
      let file = file(index)
      let path = String(cString: file.path)
      let bytes = Array(UnsafeBufferPointer(start: file.bytes, count: file.count))
      var response = response(RecordRoutes.tag(of: bytes), path)
      response.body = bytes
      files[path] = response
    }
    return files
  }

  /// The folder of the app; nil for none.
  var folder: String?
  /// The origins of other servers to which the app's pages may connect.
  var origins: TextSet = []

  /// Whether a path may be that of a file, without a look at the folder.
  func mayAnswer(_ request: HTTPRequest) -> Bool {
    path(of: request).map { folder != nil || $0.first == "client" } ?? false
  }

  /// Answers a request for a file; nil when there is none, or the path is one of the protocol's.
  func answer(to request: HTTPRequest) -> HTTPResponse? {
    guard let path = path(of: request), let found = file(path) else { return nil }
    guard request.method == "GET" || request.method == "HEAD" else {
      return .problem(Problem(.methodNotAllowed), allow: "GET, HEAD")
    }
    return found
  }

  /// The path of a file; nil for one that is never served: a hidden file, or one outside the folder.
  private func path(of request: HTTPRequest) -> [String]? {
    // Almost all requests are of the protocol.
    if request.target.utf8.starts(with: "/v1/".utf8) { return nil }
    guard var parts = request.pathParts else { return nil }
    if parts.last == "" { parts[parts.count - 1] = "index.html" }
    let isServed = parts.allSatisfy { part in
      !part.isEmpty && part.utf8.first != UInt8(ascii: ".")
        && !part.utf8.contains { $0 == 0 || $0 == UInt8(ascii: "/") }
    }
    // The protocol's own addresses.
    let isOfProtocol = parts[0] == "v1" || [["openapi.json"], ["healthz"], ["readyz"]].contains(parts)
    return isServed && !isOfProtocol ? parts : nil
  }

  private func file(_ parts: [String]) -> HTTPResponse? {
    if parts.first == "client" { return Self.client[parts.dropFirst().joined(separator: "/")] }
    guard let folder else { return nil }
    let path = folder + "/" + parts.joined(separator: "/")
    // A symbolic link may lead within the folder, to files that are not hidden.
    guard let place = RealPath(path), let own = RealPath(folder), place.isIn(own), !place.isHidden(in: own),
      let file = HTTPFile(path: path), file.size <= Self.sizeLimit
    else { return nil }
    // Neither the tag nor the answer needs the content: the file may be large, and is asked for again and again.
    var response = Self.response(EntityTag(file.version), parts.last ?? "", connectingTo: origins)
    response.file = HTTPFile.Slice(file, 0..<file.size)
    return response
  }

  private static func response(
    _ tag: EntityTag, _ name: String, connectingTo origins: TextSet = []
  ) -> HTTPResponse {
    let dot = name.utf8.lastIndex(of: UInt8(ascii: "."))
    let type = dot.flatMap { types[String(name[name.utf8.index(after: $0)...])] }
    return HTTPResponse(
      status: 200,
      headers: [
        ("ETag", tag.text), ("Content-Type", type ?? "application/octet-stream"),
        ("Cache-Control", "no-cache"), ("Content-Security-Policy", policy(connectingTo: origins)),
        ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Opener-Policy", "same-origin"),
      ])
  }
}
