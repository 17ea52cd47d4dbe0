internal import CZstd
import HoldfastService

/// Compresses bytes as they come, in constant memory. Source: <https://facebook.github.io/zstd/zstd_manual.html>.
final class ZstandardCompressor {
  private let context: OpaquePointer
  private var buffer = [UInt8](repeating: 0, count: ZSTD_CStreamOutSize())

  init() throws(ServerError) {
    guard let context = ZSTD_createCCtx() else { throw ServerError(.unreachable, "There is no memory left.") }
    self.context = context
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 3)
  }

  deinit { ZSTD_freeCCtx(context) }

  /// Takes bytes, and gives what has come of them to `emit`.
  ///
  /// - Parameter isLast: whether the stream ends with them.
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

/// The reverse of `ZstandardCompressor`.
final class ZstandardDecompressor {
  private let context: OpaquePointer
  private var buffer = [UInt8](repeating: 0, count: ZSTD_DStreamOutSize())
  /// Whether the stream has ended, as far as it was read.
  private(set) var hasEnded = false

  init() throws(ServerError) {
    guard let context = ZSTD_createDCtx() else { throw ServerError(.unreachable, "There is no memory left.") }
    self.context = context
  }

  deinit { ZSTD_freeDCtx(context) }

  /// Takes bytes, and gives what they hold to `emit`.
  ///
  /// - Throws: `ServerError.damaged` when they are no such stream.
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
      // A content that ends with the buffer has ended all the same: to go on would begin another stream.
      if input.pos == input.size, hasEnded || count < buffer.count { return }
    }
  }
}
