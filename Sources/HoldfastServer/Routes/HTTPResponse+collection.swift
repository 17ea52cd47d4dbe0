import HoldfastHTTP
import HoldfastService

extension HTTPResponse {
  /// What a read is told besides its content: how to ask again.
  struct Validators {
    /// The text of the ETag, without quotes.
    let tag: String
    /// The seconds of the Last-Modified; nil for what has none.
    var seconds: Int64?

    fileprivate var headers: [(name: String, value: String)] {
      var headers = [(name: "ETag", value: "\"\(tag)\""), ("Vary", "Authorization, Accept-Encoding, A-IM")]
      if let date = seconds.flatMap(HTTPDate.text) { headers.append(("Last-Modified", date)) }
      return headers
    }
  }

  /// The content of a read, which may be kept if it is asked about before each use.
  ///
  /// - Parameter next: the address of the next page, where there is one.
  static func content(_ body: [UInt8], _ validators: Validators, next: String? = nil) -> HTTPResponse {
    var headers = validators.headers
    headers += [("Content-Type", "application/json"), ("Cache-Control", "private, no-cache")]
    if let next { headers.append(("Link", "<\(next)>; rel=\"next\"")) }
    return HTTPResponse(status: 200, headers: headers, body: body)
  }

  /// The sender has it already.
  static func notModified(_ validators: Validators) -> HTTPResponse {
    HTTPResponse(status: 304, headers: validators.headers + [("Cache-Control", "private, no-cache")])
  }

  /// What has changed.
  ///
  /// - Parameter isFeed: whether it was asked for as RFC 3229 has it.
  static func delta(_ body: [UInt8], _ validators: Validators, isFeed: Bool) -> HTTPResponse {
    var headers = validators.headers
    headers += [("Content-Type", "application/json"), ("Cache-Control", "no-store")]
    if isFeed { headers.append(("IM", "feed")) }
    return HTTPResponse(status: isFeed ? 226 : 200, headers: headers, body: body)
  }
}
