/// How the end of a request's content is found. Stricter than libmicrohttpd, which believes the first of several
/// header fields: a proxy in front may believe another one, and what one takes for content the other takes for a
/// second request. Source: RFC 9112, sections 6.1, 6.3 and 11.2.
enum MessageFraming {
  /// There is no content.
  case none
  /// Content-Length.
  case length(UInt64)
  case chunked
  /// Ambiguous or unknown; answered with this status.
  case invalid(Int)

  init(_ headers: HTTPHeaders, isVersion10: Bool) {
    var codings: [String] = []
    var lengths: [String] = []
    headers.forEachValue(of: "transfer-encoding") { codings.append(String(decoding: $0, as: UTF8.self)) }
    headers.forEachValue(of: "content-length") { lengths.append(String(decoding: $0, as: UTF8.self)) }
    switch (codings.count, lengths.count) {
    case (0, 0): self = .none
    case (0, 1):
      // A value that is no number was answered by libmicrohttpd already.
      guard let length = UInt64(lengths[0]) else {
        self = .invalid(400)
        return
      }
      self = length == 0 ? .none : .length(length)
    case (1, 0):
      if isVersion10 {
        self = .invalid(400)
      } else {
        self = codings[0].lowercased() == "chunked" ? .chunked : .invalid(501)
      }
    default: self = .invalid(400)
    }
  }
}
