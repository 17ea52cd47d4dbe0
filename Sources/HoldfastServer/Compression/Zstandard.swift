internal import CZstd
import Glibc
import HoldfastSQLiteStore
import HoldfastService

/// Zstandard compression. Source: RFC 8878; <https://facebook.github.io/zstd/zstd_manual.html>.
enum Zstandard {
  /// Compresses a file with constant memory: about 3 MiB.
  ///
  /// - Parameters:
  ///   - level: 1 to 19; default 3.
  ///   - goesOn: asked from time to time.
  /// - Returns: whether all of it is compressed; false if `goesOn` was false.
  /// - Throws: `ServerError` if a file can't be read or written.
  @discardableResult
  static func compress(
    _ source: String, to target: String, level: Int32 = 3, while goesOn: () -> Bool = { true }
  ) throws(ServerError) -> Bool {
    guard let input = fopen(source, "rb") else { throw failure(source) }
    defer { fclose(input) }
    guard let output = fopen(target, "wb") else { throw failure(target) }
    defer { fclose(output) }
    guard let context = ZSTD_createCCtx() else { throw ServerError(.unreachable, "There is no memory left.") }
    defer { ZSTD_freeCCtx(context) }
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level)
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)
    var (read, written) = (
      [UInt8](repeating: 0, count: ZSTD_CStreamInSize()), [UInt8](repeating: 0, count: ZSTD_CStreamOutSize())
    )
    while goesOn() {
      let count = fread(&read, 1, read.count, input)
      if ferror(input) != 0 { throw failure(source) }
      let isLast = count < read.count
      guard compress(read, count, isLast, with: context, through: &written, to: output) else {
        throw failure(target)
      }
      if isLast {
        guard fflush(output) == 0 else { throw failure(target) }
        return true
      }
    }
    return false
  }

  /// Compresses and writes bytes; false if writing fails.
  private static func compress(
    _ bytes: [UInt8], _ count: Int, _ isLast: Bool, with context: OpaquePointer,
    through buffer: inout [UInt8], to output: UnsafeMutablePointer<FILE>
  ) -> Bool {
    bytes.withUnsafeBytes { bytes in
      buffer.withUnsafeMutableBytes { buffer in
        var input = ZSTD_inBuffer(src: bytes.baseAddress, size: count, pos: 0)
        while true {
          var out = ZSTD_outBuffer(dst: buffer.baseAddress, size: buffer.count, pos: 0)
          let rest = ZSTD_compressStream2(context, &out, &input, isLast ? ZSTD_e_end : ZSTD_e_continue)
          if ZSTD_isError(rest) != 0 { return false }
          if fwrite(buffer.baseAddress, 1, out.pos, output) != out.pos { return false }
          if isLast ? rest == 0 : input.pos == input.size { return true }
        }
      }
    }
  }

  private static func failure(_ path: String) -> ServerError {
    ServerError(.unreachable, "\(path) can't be compressed: \(systemMessage(errno)).")
  }
}
