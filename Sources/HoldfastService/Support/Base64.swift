internal import CSodium

/// Base64 (RFC 4648), by libsodium.
package enum Base64 {
  /// Section 4, with padding.
  package static func text(_ bytes: [UInt8]) -> String { text(bytes, sodium_base64_VARIANT_ORIGINAL) }

  /// Section 5, for URLs and tokens, without padding.
  static func urlText(_ bytes: [UInt8]) -> String { text(bytes, sodium_base64_VARIANT_URLSAFE_NO_PADDING) }

  /// Decodes the output of `urlText`; nil for other texts, including other encodings of the same bytes.
  package static func bytes(url text: some StringProtocol) -> [UInt8]? {
    let digits = text.utf8.map { CChar(bitPattern: $0) }
    var count = 0
    var isRead = false
    let bytes = [UInt8](unsafeUninitializedCapacity: digits.count + 1) { buffer, size in
      guard let start = buffer.baseAddress else { return }
      isRead =
        sodium_base642bin(
          start, buffer.count, digits, digits.count, nil, &count, nil,
          sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0
      size = isRead ? count : 0
    }
    return isRead && urlText(bytes) == text ? bytes : nil
  }

  private static func text(_ bytes: [UInt8], _ variant: Int32) -> String {
    // The length including the terminating zero.
    let room = sodium_base64_encoded_len(bytes.count, variant)
    return String(unsafeUninitializedCapacity: room) { buffer in
      buffer.withMemoryRebound(to: CChar.self) {
        if let start = $0.baseAddress { _ = sodium_bin2base64(start, room, bytes, bytes.count, variant) }
      }
      return room - 1
    }
  }
}
