internal import CZstd
import HoldfastService

/// Compresses a stream with constant memory. Source: <https://facebook.github.io/zstd/zstd_manual.html>.
final class ZstandardCompressor {
  private let context: OpaquePointer
  private var buffer = [UInt8](repeating: 0, count: ZSTD_CStreamOutSize())

  init() throws(ServerError) {
    guard let context = ZSTD_createCCtx() else { throw ServerError(.unreachable, "There is no memory left.") }
    self.context = context
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 3)
  }

  deinit { ZSTD_freeCCtx(context) }

  /// Compresses bytes, and passes the available output to `emit`.
  ///
  /// - Parameter isLast: whether these are the last bytes of the stream.
  func add(_ bytes: [UInt8], isLast: Bool = false, _ emit: (UnsafeRawBufferPointer) throws -> Void) throws {
    try bytes.withUnsafeBytes { bytes in
      var input = ZSTD_inBuffer(src: bytes.baseAddress, size: bytes.count, pos: 0)
      while true {
        let (rest, count) = buffer.withUnsafeMutableBytes { buffer in
          var output = ZSTD_outBuffer(dst: buffer.baseAddress, size: buffer.count, pos: 0)
          let rest = ZSTD_compressStream2(context, &output, &input, isLast ? ZSTD_e_end : ZSTD_e_continue)
          return (rest, output.pos)
        }
        if ZSTD_isError(rest) != 0 { throw ServerError(.unreachable, "The backup can't be compressed.") }
        try buffer.withUnsafeBytes { try emit(UnsafeRawBufferPointer(rebasing: $0.prefix(count))) }
        if isLast ? rest == 0 : input.pos == input.size { return }
      }
    }
  }
}

/// Decompresses the output of `ZstandardCompressor`.
final class ZstandardDecompressor {
  private let context: OpaquePointer
  private var buffer = [UInt8](repeating: 0, count: ZSTD_DStreamOutSize())
  /// Whether the input so far is a complete stream.
  private(set) var hasEnded = false

  init() throws(ServerError) {
    guard let context = ZSTD_createDCtx() else { throw ServerError(.unreachable, "There is no memory left.") }
    self.context = context
  }

  deinit { ZSTD_freeDCtx(context) }

  /// Decompresses bytes, and passes the output to `emit`.
  ///
  /// - Throws: `ServerError.damaged` if the stream is invalid.
  func add(_ bytes: UnsafeRawBufferPointer, _ emit: (UnsafeRawBufferPointer) throws -> Void) throws {
    var input = ZSTD_inBuffer(src: bytes.baseAddress, size: bytes.count, pos: 0)
    while true {
      let (rest, count) = buffer.withUnsafeMutableBytes { buffer in
        var output = ZSTD_outBuffer(dst: buffer.baseAddress, size: buffer.count, pos: 0)
        return (ZSTD_decompressStream(context, &output, &input), output.pos)
      }
      if ZSTD_isError(rest) != 0 || hasEnded && count > 0 {
        throw ServerError(.damaged, "The backup's content can't be read.")
      }
      hasEnded = rest == 0
      try buffer.withUnsafeBytes { try emit(UnsafeRawBufferPointer(rebasing: $0.prefix(count))) }
      // A complete stream can end exactly with the buffer. Another call would then begin a new stream.
      if input.pos == input.size, hasEnded || count < buffer.count { return }
    }
  }
}
