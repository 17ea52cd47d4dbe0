internal import CDeflate
internal import CZstd

/// A content coding: `gzip` (RFC 1952) or `zstd` (RFC 8878).
public enum ContentCoding: String, Sendable, CaseIterable {
  /// Zstandard, preferred because it is smaller and faster.
  case zstd
  /// Supported by every client.
  case gzip

  /// The coding that an `Accept-Encoding` prefers; nil if it accepts none of these (RFC 9110, section 12.5.3).
  init?(accepted field: String) {
    var best: (coding: ContentCoding, weight: Double)?
    for coding in Self.allCases {
      let weight = acceptedWeight(of: coding.rawValue, in: field) ?? acceptedWeight(of: "*", in: field) ?? 0
      if weight > best?.weight ?? 0 { best = (coding, weight) }
    }
    guard let best else { return nil }
    self = best.coding
  }

  /// Encodes a content; nil if the library runs out of memory.
  public func encode(_ bytes: [UInt8]) -> [UInt8]? {
    switch self {
    case .zstd:
      fill(ZSTD_compressBound(bytes.count)) { output, size in
        let count = ZSTD_compress(output, size, bytes, bytes.count, 1)
        return ZSTD_isError(count) == 0 ? count : nil
      }
    case .gzip:
      encodeGzip(bytes)
    }
  }

  /// Decodes a content.
  ///
  /// - Parameter limit: the maximum size of the result.
  /// - Throws: `ContentCodingError`.
  public func decode(_ bytes: [UInt8], limit: Int) throws(ContentCodingError) -> [UInt8] {
    switch self {
    case .zstd: try decodeZstd(bytes, limit: limit)
    case .gzip: try decodeGzip(bytes, limit: limit)
    }
  }
}

/// The maximum number of concatenated members or frames in a content. Each costs a step, even if it is empty.
private let memberLimit = 128

/// The reason why a content can't be decoded.
public enum ContentCodingError: Error {
  /// The result exceeds the limit.
  case tooLarge
  /// The bytes are malformed or truncated.
  case malformed
}

private func encodeGzip(_ bytes: [UInt8]) -> [UInt8]? {
  guard let compressor = libdeflate_alloc_compressor(4) else { return nil }
  defer { libdeflate_free_compressor(compressor) }
  return fill(libdeflate_gzip_compress_bound(compressor, bytes.count)) { output, size in
    let count = libdeflate_gzip_compress(compressor, bytes, bytes.count, output, size)
    return count > 0 ? count : nil
  }
}

private func fill(_ size: Int, _ body: (UnsafeMutableRawPointer?, Int) -> Int?) -> [UInt8]? {
  var count: Int?
  let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, written in
    count = body(buffer.baseAddress, size)
    written = count ?? 0
  }
  return count == nil ? nil : bytes
}

/// The library needs the size of the result in advance. The size in the content is untrusted, so larger and larger buffers are tried. A
/// content may have several concatenated members.
private func decodeGzip(_ bytes: [UInt8], limit: Int) throws(ContentCodingError) -> [UInt8] {
  guard let decompressor = libdeflate_alloc_decompressor() else { throw .tooLarge }
  defer { libdeflate_free_decompressor(decompressor) }
  var result: [UInt8] = []
  var (place, members) = (0, 0)
  repeat {
    members += 1
    if members > memberLimit { throw .malformed }
    var room = min(max(4 * (bytes.count - place), 4096), limit - result.count)
    while true {
      var (taken, made) = (0, 0)
      var outcome = LIBDEFLATE_BAD_DATA
      let part = [UInt8](unsafeUninitializedCapacity: room) { buffer, written in
        outcome = bytes.withUnsafeBytes { input in
          libdeflate_gzip_decompress_ex(
            decompressor, input.baseAddress.map { $0 + place }, input.count - place, buffer.baseAddress, room,
            &taken,
            &made)
        }
        written = outcome == LIBDEFLATE_SUCCESS ? made : 0
      }
      if outcome == LIBDEFLATE_SUCCESS {
        place += taken
        result += part
        break
      }
      guard outcome == LIBDEFLATE_INSUFFICIENT_SPACE else { throw .malformed }
      if room >= limit - result.count { throw .tooLarge }
      room = min(4 * room, limit - result.count)
    }
  } while place < bytes.count
  return result
}

private func decodeZstd(_ bytes: [UInt8], limit: Int) throws(ContentCodingError) -> [UInt8] {
  guard let stream = ZSTD_createDStream() else { throw .tooLarge }
  defer { ZSTD_freeDStream(stream) }
  // A frame could request a window of gigabytes.
  ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, 23)
  var result: [UInt8] = []
  let step = ZSTD_DStreamOutSize()
  var (place, rest, frames) = (0, 1, 0)
  while place < bytes.count || rest > 0 {
    let before = (place, result.count)
    let part = [UInt8](unsafeUninitializedCapacity: step) { buffer, written in
      bytes.withUnsafeBytes { source in
        var input = ZSTD_inBuffer(src: source.baseAddress, size: source.count, pos: place)
        var output = ZSTD_outBuffer(dst: buffer.baseAddress, size: step, pos: 0)
        rest = ZSTD_decompressStream(stream, &output, &input)
        (place, written) = (input.pos, output.pos)
      }
    }
    if ZSTD_isError(rest) != 0 { throw .malformed }
    if part.count > limit - result.count { throw .tooLarge }
    result += part
    if rest == 0 { frames += 1 }
    if frames > memberLimit { throw .malformed }
    // No progress: the content is truncated.
    if before == (place, result.count) { throw .malformed }
  }
  return result
}
