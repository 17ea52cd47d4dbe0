import CCurl
import Foundation
import HoldfastCore

/// One request in transfer: the libcurl handle, the content to send, and the received parts.
///
/// @unchecked Sendable: created by the caller's thread, then passed to the client's thread through the client's lock. From then on only
/// that thread accesses it.
final class Transfer: @unchecked Sendable {
  /// The receiver of the answer; called on the client's thread.
  struct Receiver: Sendable {
    /// Receives the final head; returning false ends the transfer.
    var head: @Sendable (HTTPClientHead) -> Bool = { _ in true }
    /// Receives content, which is there until it returns; returning false ends the transfer.
    let content: @Sendable (UnsafeRawBufferPointer) -> Bool
    /// Called once at the end; the error is nil if the answer is complete.
    let end: @Sendable (HTTPClientHead, HTTPClientError?) -> Void
  }

  let handle: UnsafeMutableRawPointer
  private var fields: UnsafeMutablePointer<curl_slist>?
  /// The file to send, of which libcurl reads.
  private var file: UnsafeMutablePointer<FILE>?
  private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
  private let receiver: Receiver
  private let limits: HTTPClientLimits
  private var head = HTTPClientHead()
  /// Whether the empty line after the fields has arrived. libcurl treats a truncated head as an answer without content.
  private var isHeadWhole = false
  private var isHeadTold = false
  private var headSize = 0
  private var bodySize = 0
  private var refusal: HTTPClientError?

  /// - Throws: `HTTPClientError.invalidRequest`.
  init(_ request: HTTPClientRequest, _ limits: HTTPClientLimits, _ receiver: Receiver) throws(HTTPClientError)
  {
    guard let handle = curl_easy_init() else {
      throw HTTPClientError(code: .failed, description: "libcurl has no memory for a request.")
    }
    self.handle = handle
    self.limits = limits
    self.receiver = receiver
    errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    try setFields(request)
    try setContent(request)
    try setFile(request)
    sign(request)
    set(CURLOPT_CONNECTTIMEOUT_MS, Self.milliseconds(limits.connectTimeout))
    if let time = limits.totalTimeout { set(CURLOPT_TIMEOUT_MS, Self.milliseconds(time)) }
    if let time = limits.idleTimeout {
      set(CURLOPT_LOW_SPEED_LIMIT, limits.lowestSpeed)
      let upload = (request.body?.count ?? 0) / HTTPClientLimits.lowestUploadSpeed
      set(CURLOPT_LOW_SPEED_TIME, max(1, Self.milliseconds(time) / 1000 + upload))
    }
    set(CURLOPT_BUFFERSIZE, Self.pieceSize)
    // The client's thread blocks signals, and libcurl raises none.
    set(CURLOPT_NOSIGNAL, 1)
    set(CURLOPT_FOLLOWLOCATION, 0)
    holdfast_curl_set_text(handle, CURLOPT_PROTOCOLS_STR, "http,https")
    // All encodings that libcurl supports, but for a store, whose objects are to come as they are.
    if request.signer == nil { holdfast_curl_set_text(handle, CURLOPT_ACCEPT_ENCODING, "") }
    if let authorities = getenv("SSL_CERT_FILE") {
      holdfast_curl_set_text(handle, CURLOPT_CAINFO, authorities)
    }
    holdfast_curl_set_pointer(handle, CURLOPT_ERRORBUFFER, errorText)
    let context = Unmanaged.passUnretained(self).toOpaque()
    holdfast_curl_set_pointer(handle, CURLOPT_HEADERDATA, context)
    holdfast_curl_set_receiver(handle, CURLOPT_HEADERFUNCTION, receiveHeader)
    holdfast_curl_set_pointer(handle, CURLOPT_WRITEDATA, context)
    holdfast_curl_set_receiver(handle, CURLOPT_WRITEFUNCTION, receiveContent)
  }

  deinit {
    curl_easy_cleanup(handle)
    curl_slist_free_all(fields)
    if let file { fclose(file) }
    errorText.deallocate()
  }

  /// The most bytes that are received at once. With libcurl's own 16 KiB a file of megabytes takes several times as long.
  private static let pieceSize = 256 << 10

  /// libcurl limits times to 31 bits.
  private static func milliseconds(_ time: Duration) -> Int { Int(Int32(clamping: time.wholeMilliseconds)) }

  private func set(_ option: CURLoption, _ value: Int) { holdfast_curl_set_long(handle, option, value) }

  private func setFields(_ request: HTTPClientRequest) throws(HTTPClientError) {
    // Without "Expect", a large body is sent immediately. libcurl signs every line that is here, also one that removes a field. The content is
    // not part of a signature: TLS protects it.
    var lines = [request.signer == nil ? "Expect:" : "x-amz-content-sha256: UNSIGNED-PAYLOAD"]
    for (name, value) in request.headers { lines.append(value.isEmpty ? "\(name);" : "\(name): \(value)") }
    guard
      (lines + [request.method, request.url]).allSatisfy({ $0.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f } })
    else {
      throw HTTPClientError(code: .invalidRequest, description: "The request's head has a control character.")
    }
    for line in lines { fields = curl_slist_append(fields, line) }
    holdfast_curl_set_pointer(handle, CURLOPT_HTTPHEADER, fields)
    guard holdfast_curl_set_text(handle, CURLOPT_URL, request.url) == CURLE_OK else {
      throw HTTPClientError(code: .invalidRequest, description: "The address can not be used: \(request.url)")
    }
  }

  private func setContent(_ request: HTTPClientRequest) throws(HTTPClientError) {
    if let body = request.body {
      set(CURLOPT_POST, 1)
      holdfast_curl_set_size(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count))
      let copied = body.withUnsafeBytes {
        // libcurl does not copy or read an empty body.
        holdfast_curl_set_pointer(
          handle, CURLOPT_COPYPOSTFIELDS,
          UnsafeMutableRawPointer(mutating: $0.baseAddress) ?? UnsafeMutableRawPointer(errorText))
      }
      guard copied == CURLE_OK else {
        throw HTTPClientError(code: .failed, description: "There is no memory for the body.")
      }
    }
    if request.method == "HEAD" { set(CURLOPT_NOBODY, 1) }
    holdfast_curl_set_text(handle, CURLOPT_CUSTOMREQUEST, request.method)
  }

  private func setFile(_ request: HTTPClientRequest) throws(HTTPClientError) {
    guard let path = request.file else { return }
    var status = stat()
    guard let file = fopen(path, "re"), fstat(fileno(file), &status) == 0 else {
      throw HTTPClientError(
        code: .invalidRequest, description: "\(path) can't be read: \(String(cString: strerror(errno))).")
    }
    self.file = file
    set(CURLOPT_UPLOAD, 1)
    holdfast_curl_set_size(handle, CURLOPT_INFILESIZE_LARGE, curl_off_t(status.st_size))
    holdfast_curl_set_pointer(handle, CURLOPT_READDATA, file)
  }

  private func sign(_ request: HTTPClientRequest) {
    guard let signer = request.signer else { return }
    holdfast_curl_set_text(handle, CURLOPT_AWS_SIGV4, "aws:amz:\(signer.region):s3")
    holdfast_curl_set_text(handle, CURLOPT_USERNAME, signer.key)
    holdfast_curl_set_text(handle, CURLOPT_PASSWORD, signer.secret)
  }

  /// Notifies the receiver of the end. Call it once.
  func finish(_ result: CURLcode) {
    if let refusal { return receiver.end(head, refusal) }
    guard result == CURLE_OK else {
      let said = String(
        decoding: UnsafeRawBufferPointer(start: errorText, count: strlen(errorText)), as: UTF8.self)
      let text = said.isEmpty ? String(cString: curl_easy_strerror(result)) : said
      return receiver.end(head, HTTPClientError(code: .failed, description: text))
    }
    guard isHeadWhole else {
      return receiver.end(
        head, HTTPClientError(code: .failed, description: "The answer ended inside its head."))
    }
    tellHead()
    receiver.end(head, nil)
  }

  /// Notifies the receiver of the cancellation. Call it once.
  func cancel() {
    receiver.end(head, HTTPClientError(code: .cancelled, description: "The request was cancelled."))
  }

  // MARK: Called by libcurl

  /// Handles a line of the head, with its line end.
  func receive(header line: UnsafeRawBufferPointer) -> Bool {
    headSize += line.count
    guard headSize <= HTTPClientLimits.headLimit else {
      return refuse("The header fields of the answer are too large.")
    }
    let text = String(decoding: line, as: UTF8.self)
    if text.hasPrefix("HTTP/") {
      // Of several heads (interim answers) the last one counts.
      var status = 0
      holdfast_curl_get_long(handle, CURLINFO_RESPONSE_CODE, &status)
      head = HTTPClientHead(status: status)
      isHeadWhole = false
    } else if line.elementsEqual([13, 10]) || line.elementsEqual([10]) {
      isHeadWhole = true
    } else if let colon = text.firstIndex(of: ":") {
      let name = text[..<colon].lowercased()
      let value = text[text.index(after: colon)...].trimmingCharacters(in: .whitespacesAndNewlines)
      // If the length is too large for it, libcurl reads to the end of the connection.
      if name == "content-length", Int64(value) == nil {
        let isTooLarge = !value.isEmpty && value.utf8.allSatisfy { (0x30...0x39).contains($0) }
        return refuse("The answer's length is no number of bytes.", isTooLarge ? .tooLarge : .failed)
      }
      head.headers[name] = value
    }
    return true
  }

  func receive(content: UnsafeRawBufferPointer) -> Bool {
    guard tellHead() else { return false }
    bodySize += content.count
    guard bodySize <= limits.bodyLimit else {
      return refuse("The answer has more than \(limits.bodyLimit) bytes.")
    }
    return receiver.content(content)
  }

  @discardableResult
  private func tellHead() -> Bool {
    if isHeadTold { return true }
    isHeadTold = true
    return receiver.head(head)
  }

  private func refuse(_ reason: String, _ code: HTTPClientError.Code = .tooLarge) -> Bool {
    refusal = HTTPClientError(code: code, description: reason)
    return false
  }
}

private func receiveHeader(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  received(bytes, size * count, context) { $0.receive(header: $1) }
}

private func receiveContent(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  received(bytes, size * count, context) { $0.receive(content: $1) }
}

/// The number of bytes if the receiver accepts them. Any other number ends the transfer.
private func received(
  _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int, _ context: UnsafeMutableRawPointer?,
  _ receive: (Transfer, UnsafeRawBufferPointer) -> Bool
) -> Int {
  guard count > 0 else { return 0 }
  guard let context else { return 0 }
  let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
  return receive(transfer, UnsafeRawBufferPointer(start: bytes, count: count)) ? count : 0
}
