// Stands in for CryptoKit, where there is none: the declarations that the client uses.
import Foundation

public struct SHA256Digest: Sequence {
  public func makeIterator() -> Array<UInt8>.Iterator { [].makeIterator() }
}

public struct SHA256 {
  public init() {}
  public mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
  public func finalize() -> SHA256Digest { SHA256Digest() }
}
