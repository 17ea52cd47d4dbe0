import HoldfastCore
import HoldfastHTTP

/// The trace that a request belongs to, of its `traceparent` field. Source: W3C Trace Context, <https://www.w3.org/TR/trace-context/>.
struct TraceContext: Sendable, Hashable {
  /// 32 lower-case hexadecimal digits, not all 0.
  let traceID: String
  /// Whether the caller records the trace.
  let isSampled: Bool

  /// Reads the field; nil if it is absent, repeated or malformed: the request is then in no trace.
  ///
  /// Version 00 has exactly 55 characters. A later version may continue behind a hyphen.
  init?(_ headers: HTTPHeaders) {
    guard let text = headers["traceparent"] else { return nil }
    let bytes = Array(text.utf8)
    let (hyphen, zero) = (UInt8(ascii: "-"), UInt8(ascii: "0"))
    guard (55...512).contains(bytes.count), [2, 35, 52].allSatisfy({ bytes[$0] == hyphen }),
      // Several fields were joined.
      !bytes.contains(UInt8(ascii: ","))
    else {
      return nil
    }
    let (version, trace, parent, flags) = (bytes[..<2], bytes[3..<35], bytes[36..<52], bytes[53..<55])
    guard (version + trace + parent + flags).allSatisfy(Self.isDigit),
      version != [UInt8(ascii: "f"), UInt8(ascii: "f")],
      bytes.count == 55 || (!version.allSatisfy { $0 == zero } && bytes[55] == hyphen),
      trace.contains(where: { $0 != zero }), parent.contains(where: { $0 != zero }),
      let number = UInt8(String(decoding: flags, as: UTF8.self), radix: 16)
    else { return nil }
    traceID = String(decoding: trace, as: UTF8.self)
    isSampled = number & 1 == 1
  }

  /// The field for a request that the server makes in this trace.
  ///
  /// - Parameter span: 8 random bytes, which name the server's part of the trace.
  func field(span: [UInt8]) -> (name: String, value: String) {
    // All zeros would name no part.
    let span = span.allSatisfy { $0 == 0 } ? [UInt8](repeating: 1, count: 8) : span
    return ("traceparent", "00-\(traceID)-\(hexadecimal(span))-\(isSampled ? "01" : "00")")
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
      || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
  }
}
