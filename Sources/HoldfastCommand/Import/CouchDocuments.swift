import Holdfast
import HoldfastCore
import HoldfastCurl
import HoldfastSQLite

/// The documents of a CouchDB database, by its feed of changes: each once, as it is now, those that are deleted included.
///
/// Source: <https://docs.couchdb.org/en/stable/api/database/changes.html>.
struct CouchDocuments {
  /// A page of the feed.
  struct Page {
    let documents: [JSONValue]
    /// Where the next page begins.
    let next: String
    let isLast: Bool
  }

  let database: CouchAddress
  private let client = HTTPClient()

  init(_ database: CouchAddress) { self.database = database }

  /// Reads the page that begins behind a point of the feed.
  func page(since: String, limit: Int) throws -> Page {
    let query = "include_docs=true&conflicts=true&limit=\(limit)&since=\(CouchAddress.escaped(since))"
    let answer = try get("_changes?\(query)")
    guard let results = answer["results"]?.elements, let last = answer["last_seq"] else {
      throw Failure(
        "\(database.shown) answered without \"results\" and \"last_seq\": it is no database of CouchDB.")
    }
    return Page(
      documents: results.compactMap { $0["doc"] },
      next: last.stringValue ?? String(decoding: last.bytes, as: UTF8.self), isLast: results.count < limit)
  }

  /// Reads one revision of a document.
  func revision(_ revision: String, of id: String) throws -> JSONValue {
    try get("\(CouchAddress.escaped(id))?rev=\(CouchAddress.escaped(revision))")
  }

  private func get(_ path: String) throws -> JSONValue {
    let answer = try client.sendAndWait(
      HTTPClientRequest(
        url: "\(database.url)/\(path)", headers: [("Accept", "application/json")]))
    guard answer.head.status == 200 else {
      let reason = (try? JSONValue(parsing: answer.body))?["reason"]?.stringValue
      throw Failure("\(database.shown) answered \(answer.head.status)\(reason.map { ": \($0)" } ?? ".")")
    }
    do { return try JSONValue(parsing: answer.body, maximumDepth: 128) } catch {
      throw Failure("\(database.shown) sent what is no JSON: \(error)")
    }
  }
}

/// The address of a CouchDB database. A name and password may stand in it, as in `http://name:password@host/database`.
struct CouchAddress {
  let url: String
  /// Without name and password, for a person.
  let shown: String
  /// The name of the database.
  var name: String { String(shown.split(separator: "/").last ?? "") }

  /// - Throws: `UsageError` when it is no address of HTTP.
  init(_ text: String) throws(UsageError) {
    guard let scheme = ["http://", "https://"].first(where: { text.hasPrefix($0) }) else {
      throw UsageError("\(text) is no address of a database, such as http://127.0.0.1:5984/lists.")
    }
    var rest = Substring(String(decoding: text.utf8.dropFirst(scheme.utf8.count), as: UTF8.self))
    while rest.hasSuffix("/") { rest = rest.dropLast() }
    url = scheme + rest
    let host = rest.prefix { $0 != "/" }
    shown = scheme + (host.lastIndex(of: "@").map { rest[rest.index(after: $0)...] } ?? rest)
  }

  /// A part of an address, with all but letters, digits, `-`, `_` and `.` escaped.
  static func escaped(_ text: String) -> String {
    text.utf8.map { byte -> String in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: String(UnicodeScalar(byte))
      default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
      }
    }.joined()
  }
}
