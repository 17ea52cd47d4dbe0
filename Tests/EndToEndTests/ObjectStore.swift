import Foundation
import HoldfastCore
import HoldfastHTTP
import Synchronization

/// A store in the manner of Amazon S3, in memory: one bucket, `backups`, whose listings have one name on a page.
final class ObjectStore: Sendable {
  typealias Fault = @Sendable (HTTPRequest) -> HTTPResponse?

  private struct State {
    /// By the path, such as `backups/PREFIX/NAME`.
    var objects: TextMap<[UInt8]> = [:]
    var requests: [HTTPRequest] = []
    var fault: Fault?
    /// Whether what a fault refuses is done all the same.
    var keepsRefused = false
    var listsTwice = false
  }

  /// Outlives the store, which its server's threads do not know.
  private final class Content: Sendable { let state = Mutex(State()) }

  private let content = Content()
  private let server: HTTPServer
  let address: String

  init() throws {
    let content = content
    var limits = HTTPLimits()
    limits.maximumBodyBytes = 64 << 20
    server = try HTTPServer(limits: limits) { request, responder in
      responder.respond(
        content.state.withLock { state in
          state.requests.append(request)
          guard let refusal = state.fault?(request) else { return Self.answer(request, &state) }
          if state.keepsRefused { _ = Self.answer(request, &state) }
          return refusal
        })
    }
    address = "http://127.0.0.1:\(server.port)"
  }

  deinit { server.stop(grace: .zero) }

  var objects: TextMap<[UInt8]> { content.state.withLock { $0.objects } }
  var requests: [HTTPRequest] { content.state.withLock { $0.requests } }

  /// Stores an object.
  func put(_ path: String, _ bytes: [UInt8]) { content.state.withLock { $0.objects[path] = bytes } }

  /// Answers in place of the store, where `fault` gives an answer.
  func fail(_ fault: Fault?) { content.state.withLock { $0.fault = fault } }

  /// The same, after the store has done what it was asked for.
  func failAfterwards(_ fault: @escaping Fault) {
    content.state.withLock { ($0.fault, $0.keepsRefused) = (fault, true) }
  }

  /// Lists each name twice.
  func listTwice() { content.state.withLock { $0.listsTwice = true } }

  /// An answer that says what is wrong.
  static func problem(
    _ status: Int, _ code: String, headers: [(String, String)] = [], more: String = ""
  ) -> HTTPResponse {
    HTTPResponse(
      status: status, headers: [("Content-Type", "application/xml")] + headers,
      body: Array("<Error><Code>\(code)</Code><Message>It &lt;is&gt; \(code).</Message>\(more)</Error>".utf8))
  }

  private static func answer(_ request: HTTPRequest, _ state: inout State) -> HTTPResponse {
    let path = (request.pathParts ?? []).joined(separator: "/")
    guard path == "backups" || path.hasPrefix("backups/") else { return problem(404, "NoSuchBucket") }
    switch request.method {
    case "PUT":
      state.objects[path] = request.body
      return HTTPResponse(status: 200)
    case "DELETE":
      state.objects[path] = nil
      return HTTPResponse(status: 204)
    default:
      if path == "backups" { return listing(request, state) }
      return state.objects[path].map { HTTPResponse(status: 200, body: $0) } ?? problem(404, "NoSuchKey")
    }
  }

  private static func listing(_ request: HTTPRequest, _ state: State) -> HTTPResponse {
    let names = state.objects.keys.map { String($0.dropFirst(8)) }
    let token = request.queryValue("continuation-token") ?? ""
    let rest = names.filter { $0.hasPrefix(request.queryValue("prefix") ?? "") && $0 > token }.sorted()
    let encoded = rest.first?.addingPercentEncoding(withAllowedCharacters: .alphanumerics)
    let contents = encoded.map { "<Contents><Key>\($0)</Key></Contents>" } ?? ""
    let more = rest.count > 1 ? "<NextContinuationToken>\(escaped(rest[0]))</NextContinuationToken>" : ""
    let text = """
      <?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><KeyCount>1</KeyCount>\
      <IsTruncated>\(rest.count > 1)</IsTruncated>\(more)\(contents)\(state.listsTwice ? contents : "")</ListBucketResult>
      """
    return HTTPResponse(status: 200, headers: [("Content-Type", "application/xml")], body: Array(text.utf8))
  }

  private static func escaped(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
  }
}
