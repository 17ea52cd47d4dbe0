import Foundation
import HoldfastServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension WebhookConfiguration {
  /// Calls a program over HTTP, and gives it ten seconds.
  static func over(http url: URL, secret: [UInt8]) -> WebhookConfiguration {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = 10
    configuration.timeoutIntervalForResource = 10
    configuration.httpShouldSetCookies = false
    let session = URLSession(configuration: configuration)
    return WebhookConfiguration(secret: secret) { delivery in
      var request = URLRequest(url: url)
      request.httpMethod = "POST"
      request.httpBody = Data(delivery.body)
      for (name, value) in delivery.headers { request.setValue(value, forHTTPHeaderField: name) }
      let outcome = Outcome()
      let done = DispatchSemaphore(value: 0)
      session.dataTask(with: request) { _, response, _ in
        if let response = response as? HTTPURLResponse {
          outcome.answer = Answer(
            status: response.statusCode,
            retryAfter: response.value(forHTTPHeaderField: "Retry-After").flatMap { Int($0) })
        }
        done.signal()
      }.resume()
      done.wait()
      return outcome.answer
    }
  }

  // Proof: written once before the semaphore is signalled, read once after.
  private final class Outcome: @unchecked Sendable { var answer = Answer(status: 0) }
}
