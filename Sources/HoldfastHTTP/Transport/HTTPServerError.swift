/// The reason why a server could not start.
public struct HTTPServerError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure.
  public struct Code: Sendable, Hashable {
    private enum Value { case invalidAddress, cannotBind, outOfResources, invalidCertificate }
    private let value: Value

    /// The address is no IP address.
    public static let invalidAddress = Code(value: .invalidAddress)
    /// The system refused the address or port, for example because another process uses it.
    public static let cannotBind = Code(value: .cannotBind)
    /// Out of threads, descriptors or memory.
    public static let outOfResources = Code(value: .outOfResources)
    /// A certificate or its key can't be read, or they do not match.
    public static let invalidCertificate = Code(value: .invalidCertificate)
  }

  /// The kind of failure.
  public let code: Code
  /// The system's error number; 0 if there is none.
  public let systemError: Int32
  /// The failure and its remedy.
  public let description: String

  init(_ code: Code, systemError: Int32 = 0, _ description: String) {
    self.code = code
    self.systemError = systemError
    self.description = description
  }
}
