import HoldfastHTTP
import HoldfastService

extension HTTPResponse {
  /// The validators of a read, which clients send back in conditional requests.
  struct Validators {
    /// The ETag without quotes.
    let tag: String
    /// Last-Modified in seconds; nil if the resource has none.
    var seconds: Int64?

    fileprivate var headers: [(name: String, value: String)] {
      var headers = [(name: "ETag", value: "\"\(tag)\""), ("Vary", "Authorization, Accept-Encoding, A-IM")]
      if let date = seconds.flatMap(HTTPDate.text) { headers.append(("Last-Modified", date)) }
      return headers
    }
  }

  /// The content of a read. Caches must revalidate it before each use.
  ///
  /// - Parameter next: the URL of the next page; nil if there is none.
  static func content(_ body: [UInt8], _ validators: Validators, next: String? = nil) -> HTTPResponse {
    var headers = validators.headers
    headers += [("Content-Type", "application/json"), ("Cache-Control", "private, no-cache")]
    if let next { headers.append(("Link", "<\(next)>; rel=\"next\"")) }
    return HTTPResponse(status: 200, headers: headers, body: body)
  }

  /// A 304 answer: the client's copy is current.
  static func notModified(_ validators: Validators) -> HTTPResponse {
    HTTPResponse(status: 304, headers: validators.headers + [("Cache-Control", "private, no-cache")])
  }

  /// The changes since the client's copy.
  ///
  /// - Parameter isFeed: whether the client asked for a delta according to RFC 3229.
  static func delta(_ body: [UInt8], _ validators: Validators, isFeed: Bool) -> HTTPResponse {
    var headers = validators.headers
    headers += [("Content-Type", "application/json"), ("Cache-Control", "no-store")]
    if isFeed { headers.append(("IM", "feed")) }
    return HTTPResponse(status: isFeed ? 226 : 200, headers: headers, body: body)
  }
}
