#if canImport(CryptoKit)
  internal import CryptoKit
#elseif os(Linux)
  internal import COpenSSL
#else
  internal import HoldfastCore
#endif

/// The SHA-256 hash of a large content, in pieces: of a file, or of a request. It takes the processor's own instructions, by CryptoKit on Apple's
/// platforms and by OpenSSL on Linux. Source: EVP_DigestInit(3).
///
///     let digest = ContentDigest()
///     digest.add(bytes)
///     let hash = digest.finish()
///
/// @unchecked Sendable: its user sees to it that one thread at a time uses it.
package final class ContentDigest: @unchecked Sendable {
  #if canImport(CryptoKit)
    private var hash = CryptoKit.SHA256()

    /// Begins a hash.
    package init() {}

    /// Adds bytes.
    package func add(_ bytes: UnsafeRawBufferPointer) { hash.update(bufferPointer: bytes) }

    /// The 32 bytes of the hash of everything added. Call it once, as the last.
    package func finish() -> [UInt8] { Array(hash.finalize()) }
  #elseif os(Linux)
    private let context: OpaquePointer

    /// Begins a hash. Ends the process without memory for it, as every object of Swift does.
    package init() {
      guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
        fatalError("There is no memory for a hash.")
      }
      self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    /// Adds bytes.
    package func add(_ bytes: UnsafeRawBufferPointer) {
      EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
    }

    /// The 32 bytes of the hash of everything added. Call it once, as the last.
    package func finish() -> [UInt8] {
      [UInt8](unsafeUninitializedCapacity: 32) { bytes, count in
        EVP_DigestFinal_ex(context, bytes.baseAddress, nil)
        count = 32
      }
    }
  #else
    private var hash = HoldfastCore.SHA256()

    /// Begins a hash.
    package init() {}

    /// Adds bytes.
    package func add(_ bytes: UnsafeRawBufferPointer) { hash.add(bytes) }

    /// The 32 bytes of the hash of everything added. Call it once, as the last.
    package func finish() -> [UInt8] { hash.hash() }
  #endif

  /// Adds bytes.
  package func add(_ bytes: [UInt8]) { bytes.withUnsafeBytes { add($0) } }
}
