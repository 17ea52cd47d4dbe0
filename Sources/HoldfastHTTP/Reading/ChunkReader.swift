/// Decodes the chunked transfer coding incrementally: RFC 9112, section 7.1, strictly.
struct ChunkReader {
  private enum State: Equatable {
    case size
    case `extension`(ChunkExtension)
    case sizeEnd
    case data
    case dataReturn
    case dataEnd
    case trailer
    case trailerEnd
  }

  /// The maximum size of all extensions in a body. Real clients send none.
  private static let extensionLimit = 1024
  /// The maximum number of digits in a chunk size, with and without leading zeros. No limit of a body is larger.
  private static let digitLimit = (all: 64, significant: 15)

  private var state = State.size
  private var size = 0
  private var digits = 0
  /// The announced size of all chunks so far.
  private var total = 0
  private var isLast = false
  private var extensionBytes = 0
  private var trailer: [UInt8] = []
  private var trailerBytes = 0

  /// Parses bytes, and passes on the content in them.
  ///
  /// - Parameters:
  ///   - bytes: the next bytes.
  ///   - limit: the maximum size of the content.
  ///   - trailerLimit: the maximum size of the trailer.
  ///   - body: receives the pieces of the content.
  /// - Returns: the number of bytes consumed, and whether the content is complete. Fewer than all bytes are consumed only at its end.
  /// - Throws: `Refusal`, errors of `body`.
  mutating func read(
    _ bytes: UnsafeRawBufferPointer, limit: Int, trailerLimit: Int,
    _ body: (UnsafeRawBufferPointer) throws(Refusal) -> Void
  ) throws(Refusal) -> (taken: Int, isAtEnd: Bool) {
    var place = 0
    while place < bytes.count {
      if state == .data {
        let count = min(size, bytes.count - place)
        try body(UnsafeRawBufferPointer(rebasing: bytes[place..<(place + count)]))
        place += count
        size -= count
        if size == 0 { state = .dataReturn }
        continue
      }
      let byte = bytes[place]
      place += 1
      if try takeFraming(byte, limit, trailerLimit) { return (place, true) }
    }
    return (place, false)
  }

  /// Parses a byte outside the content. Returns whether it is the last one.
  private mutating func takeFraming(_ byte: UInt8, _ limit: Int, _ trailerLimit: Int) throws(Refusal) -> Bool
  {
    switch (state, byte) {
    case (.size, UInt8(ascii: "\r")) where digits > 0: state = .sizeEnd
    case (.size, UInt8(ascii: ";")) where digits > 0, (.size, UInt8(ascii: " ")) where digits > 0,
      (.size, UInt8(ascii: "\t")) where digits > 0:
      state = .extension(try ChunkExtension.end.next(byte))
    case (.size, _):
      guard let digit = hexadecimalValue(byte) else { throw .malformed }
      digits += 1
      if digits > Self.digitLimit.all { throw .malformed }
      if size >> (4 * (Self.digitLimit.significant - 1)) != 0 { throw .tooLarge }
      size = size << 4 | Int(digit)
    case (.extension(let place), UInt8(ascii: "\r")) where place.mayEnd: state = .sizeEnd
    case (.extension(let place), _):
      state = .extension(try place.next(byte))
      extensionBytes += 1
      if extensionBytes > Self.extensionLimit { throw .malformed }
    case (.sizeEnd, UInt8(ascii: "\n")):
      if size > limit - total { throw .tooLarge }
      total += size
      isLast = size == 0
      digits = 0
      state = isLast ? .trailer : .data
    case (.dataReturn, UInt8(ascii: "\r")): state = .dataEnd
    case (.dataEnd, UInt8(ascii: "\n")): state = .size
    case (.trailer, UInt8(ascii: "\r")): state = .trailerEnd
    case (.trailer, 0x20...0x7E), (.trailer, 0x80...0xFF), (.trailer, UInt8(ascii: "\t")):
      trailer.append(byte)
      trailerBytes += 1
      if trailerBytes > trailerLimit { throw .headTooLarge }
    case (.trailerEnd, UInt8(ascii: "\n")):
      if trailer.isEmpty { return true }
      // The trailer field is parsed to validate it, and discarded, because no handler needs it.
      var fields = HTTPHeaders()
      let line = trailer
      try line.withUnsafeBufferPointer { bytes throws(Refusal) in
        try fields.append(line: UnsafeRawBufferPointer(bytes))
      }
      trailer = []
      state = .trailer
    default: throw .malformed
    }
    return false
  }
}
