import Foundation
import HoldfastCurl
import HoldfastServer

extension WebhookConfiguration {
  /// Calls a program over HTTP, with a time limit of ten seconds. Redirects are not followed: a request signed for one address must not
  /// reach another.
  static func over(http url: URL, secret: [UInt8]) -> WebhookConfiguration {
    let client = HTTPClient(.brief)
    return WebhookConfiguration(secret: secret) { delivery in
      let request = HTTPClientRequest(
        method: "POST", url: url.absoluteString, headers: delivery.headers, body: delivery.body)
      guard let answer = try? client.sendAndWait(request) else { return Answer(status: 0) }
      return Answer(status: answer.head.status, retryAfter: answer.head.retryAfter, body: answer.body)
    }
  }
}

extension HTTPClientLimits {
  /// Limits for short answers that arrive immediately.
  static let brief = HTTPClientLimits(
    connectTimeout: .seconds(10), idleTimeout: nil, totalTimeout: .seconds(10), bodyLimit: 1 << 20)
}
