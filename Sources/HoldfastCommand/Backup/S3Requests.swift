import Glibc
import HoldfastCore
import HoldfastCurl
import HoldfastService
import Synchronization

/// The requests to an S3-compatible store, with the bucket in the path of the address.
///
/// Source: <https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations_Amazon_Simple_Storage_Service.html>.
struct S3Requests {
  /// The pages of a listing, of up to 1,000 names each: a store that always has another one ends here.
  private static let pageLimit = 1000

  private let access: S3Access
  /// For objects, of any size.
  private let objects = HTTPClient(limits(.max))
  /// For listings and all that has a short answer.
  private let client = HTTPClient(limits(16 << 20))

  init(_ access: S3Access) { self.access = access }

  private static func limits(_ bodyLimit: Int) -> HTTPClientLimits {
    HTTPClientLimits(idleTimeout: .seconds(60), totalTimeout: nil, bodyLimit: bodyLimit)
  }

  /// Sends a file.
  func put(_ file: String, at place: S3Place, _ name: String) throws {
    var request = request("PUT", place, name)
    request.file = file
    try check(send(request), place, name)
  }

  /// Fetches an object into a new file.
  func get(at place: S3Place, _ name: String, to path: String) throws {
    let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw FileError(path, "written") }
    defer { close(file) }
    let failure = Mutex<Int32?>(nil)
    let request = request("GET", place, name)
    let answer: HTTPClientAnswer
    do {
      answer = try objects.download(request) { bytes in
        if writeAll(bytes, to: file) { return true }
        failure.withLock { $0 = errno }
        return false
      }
    } catch {
      if let number = failure.withLock({ $0 }) { throw FileError(path, "written", number) }
      throw unreachable(error)
    }
    try check(answer, place, name)
  }

  /// Removes an object. One that is not there is removed.
  func remove(at place: S3Place, _ name: String) throws {
    try check(send(request("DELETE", place, name)), place, name)
  }

  /// The names of the objects at a place.
  func names(at place: S3Place) throws -> [String] {
    var names: [String] = []
    var token: String?
    for _ in 0..<Self.pageLimit {
      // In the order that the signature needs.
      let query =
        (token.map { [("continuation-token", $0)] } ?? [])
        + [("encoding-type", "url"), ("list-type", "2"), ("prefix", place.prefix)]
      let answer = try send(request("GET", place, query: query))
      try check(answer, place)
      let listing = S3Text(answer.body)
      guard listing.first("ListBucketResult") != nil else {
        throw ServerError(.unreachable, "\(access.endpoint) answered no listing of \(place.path(of: "")).")
      }
      names += listing.all("Key").compactMap { S3Text.decoded($0) }.filter { $0.hasPrefix(place.prefix) }
        .map { String($0.dropFirst(place.prefix.count)) }
      guard listing.first("IsTruncated") == "true", let next = listing.first("NextContinuationToken") else {
        return names
      }
      token = S3Text.unescaped(next)
    }
    throw ServerError(.unreachable, "\(access.endpoint) has no end of the names at \(place.path(of: "")).")
  }

  private func request(
    _ method: String, _ place: S3Place, _ name: String? = nil, query: [(String, String)] = []
  ) -> HTTPClientRequest {
    var url = "\(access.endpoint)/\(place.bucket)"
    if let name {
      let parts = (place.prefix + name).split(separator: "/", omittingEmptySubsequences: false)
      url += parts.map { "/" + percentEncoded(String($0)) }.joined()
    }
    if !query.isEmpty {
      url += "?" + query.map { "\($0)=\(percentEncoded($1))" }.joined(separator: "&")
    }
    var request = HTTPClientRequest(
      method: method, url: url, headers: access.sessionToken.map { [("x-amz-security-token", $0)] } ?? [])
    request.signer = access.signer
    return request
  }

  private func send(_ request: HTTPClientRequest) throws -> HTTPClientAnswer {
    do { return try client.sendAndWait(request) } catch { throw unreachable(error) }
  }

  private func unreachable(_ error: HTTPClientError) -> ServerError {
    ServerError(.unreachable, "\(access.endpoint) did not answer: \(error.description).")
  }

  /// - Throws: `ServerError` for an answer that is no success, with what to do.
  private func check(_ answer: HTTPClientAnswer, _ place: S3Place, _ name: String = "") throws {
    let status = answer.head.status
    if [200, 204].contains(status) { return }
    let text = S3Text(answer.body)
    let code = text.first("Code") ?? ""
    let said = [String(status), S3Text.shown(code), text.first("Message").map(S3Text.shown) ?? ""]
      .filter { !$0.isEmpty }.joined(separator: " ")
    switch (status, code) {
    case (404, "NoSuchBucket"):
      throw ServerError(
        .notFound, "\(access.endpoint) has no bucket \(place.bucket). Make it, or name another one.")
    case (404, _): throw ServerError(.notFound, "There is no \(place.path(of: name)) at \(access.endpoint).")
    case (401, _), (403, _):
      throw ServerError(
        .refused,
        "\(access.endpoint) refused \(place.path(of: name)): \(said). See whether AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION are right, what the key may do, and this machine's clock."
      )
    default:
      throw ServerError(.unreachable, "\(access.endpoint) answered for \(place.path(of: name)): \(said)")
    }
  }
}
