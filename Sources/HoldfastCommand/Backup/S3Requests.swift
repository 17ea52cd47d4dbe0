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
  /// For objects that are fetched: `get` limits their size.
  private let objects = HTTPClient(limits(.max))
  /// For objects that are sent.
  private let uploads = HTTPClient(limits(1 << 20))
  /// For listings and all that is short both ways.
  private let client = HTTPClient(limits(16 << 20, .seconds(120)))

  init(_ access: S3Access) { self.access = access }

  private static func limits(_ bodyLimit: Int, _ totalTimeout: Duration? = nil) -> HTTPClientLimits {
    HTTPClientLimits(
      idleTimeout: .seconds(60), lowestSpeed: 10_000, totalTimeout: totalTimeout, bodyLimit: bodyLimit)
  }

  /// Sends a file.
  ///
  /// - Returns: its size in bytes.
  func put(_ file: String, at place: S3Place, _ name: String) throws -> Int64 {
    var status = stat()
    guard stat(file, &status) == 0 else { throw FileError(file, "read") }
    var request = request("PUT", place, name)
    request.file = file
    try check(send(request, uploads), place, name)
    return Int64(status.st_size)
  }

  /// Fetches an object into a folder, as its backup.
  ///
  /// - Parameter size: the size that the object must have; nil for any that the folder has room for.
  func get(at place: S3Place, _ name: String, size: Int64?, to folder: TemporaryFolder) throws {
    let path = folder.backup
    let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw FileError(path, "written") }
    defer { close(file) }
    let failure = Mutex<(any Error)?>(nil)
    let rest = Mutex<Int64>(0)
    @Sendable func fail(_ error: any Error) -> Bool {
      failure.withLock { $0 = error }
      return false
    }
    let answer: HTTPClientAnswer
    do {
      answer = try objects.download(
        request("GET", place, name),
        accept: { head in
          do { try rest.withLock { $0 = try self.size(of: place.path(of: name), head, size, folder) } } catch
          {
            return fail(error)
          }
          return true
        },
        to: { bytes in
          let isTooLong = rest.withLock {
            $0 -= Int64(bytes.count)
            return $0 < 0
          }
          if isTooLong {
            return fail(ServerError(.damaged, "\(place.path(of: name)) is larger than it says."))
          }
          return writeAll(bytes, to: file) || fail(FileError(path, "written"))
        })
    } catch { throw failure.withLock { $0 } ?? unreachable(error) }
    // An answer without content ends all the same.
    if let error = failure.withLock({ $0 }) { throw error }
    try check(answer, place, name)
  }

  /// The size of an object that is about to come.
  ///
  /// - Throws: `ServerError` for one that is not the expected, or too large for the folder.
  private func size(
    of object: String, _ head: HTTPClientHead, _ expected: Int64?, _ folder: TemporaryFolder
  ) throws(ServerError) -> Int64 {
    guard let size = head.headers["content-length"].flatMap({ Int64($0) }) else {
      throw ServerError(.unreachable, "\(access.endpoint) did not say the size of \(object).")
    }
    if let expected, size != expected {
      throw ServerError(.damaged, "\(object) has \(size) bytes, and \(expected) were sent.")
    }
    let free = folder.free
    if size > free {
      throw ServerError(
        .unreachable,
        "\(object) has \(size) bytes, and \(folder.path) has room for \(free). Free some space, or set TMPDIR to another folder."
      )
    }
    return size
  }

  /// Removes an object. One that is not there is removed.
  func remove(at place: S3Place, _ name: String) throws {
    try check(send(request("DELETE", place, name), client), place, name)
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
      let answer = try send(request("GET", place, query: query), client)
      try check(answer, place)
      let listing = S3Text(answer.body)
      guard listing.first("ListBucketResult") != nil else {
        throw ServerError(.unreachable, "\(access.endpoint) answered no listing of \(place.path(of: "")).")
      }
      names += listing.all("Key").compactMap { S3Text.decoded($0) }.filter { $0.hasPrefix(place.prefix) }
        .map { String($0.dropFirst(place.prefix.count)) }
      guard names.count <= Self.pageLimit * 1000 else { break }
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
      url += parts.map { "/" + String($0).percentEncoded }.joined()
    }
    if !query.isEmpty {
      url += "?" + query.map { "\($0)=\($1.percentEncoded)" }.joined(separator: "&")
    }
    var request = HTTPClientRequest(
      method: method, url: url, headers: access.sessionToken.map { [("x-amz-security-token", $0)] } ?? [])
    request.signer = access.signer
    return request
  }

  private func send(_ request: HTTPClientRequest, _ client: HTTPClient) throws -> HTTPClientAnswer {
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
    case (301, _), (307, _), (400, "AuthorizationHeaderMalformed"), (400, "InvalidRegionName"),
      (400, "IllegalLocationConstraintException"):
      let region = answer.head.headers["x-amz-bucket-region"] ?? text.first("Region") ?? "that of the bucket"
      throw ServerError(
        .refused,
        "\(access.endpoint) does not have \(place.path(of: name)) in this region: \(said). Set AWS_REGION to \(S3Text.shown(region)), and --s3-endpoint, where it is given, to the address for it."
      )
    default:
      throw ServerError(.unreachable, "\(access.endpoint) answered for \(place.path(of: name)): \(said)")
    }
  }
}
