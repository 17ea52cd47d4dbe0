/// Why a server could not start.
public struct HTTPServerError: Error, Sendable, CustomStringConvertible {
  /// What kind of failure it is.
  public struct Code: Sendable, Hashable {
    private enum Value { case invalidAddress, cannotBind, outOfResources, invalidCertificate }
    private let value: Value

    /// The address is no IP address.
    public static let invalidAddress = Code(value: .invalidAddress)
    /// The system refused the address or port, such as when another process has it.
    public static let cannotBind = Code(value: .cannotBind)
    /// No threads, descriptors or memory.
    public static let outOfResources = Code(value: .outOfResources)
    /// A certificate or its key can't be read, or they do not belong together.
    public static let invalidCertificate = Code(value: .invalidCertificate)
  }

  /// What kind of failure it is.
  public let code: Code
  /// The system's error number; 0 if it gave none.
  public let systemError: Int32
  /// What failed, and what to do about it.
  public let description: String

  init(_ code: Code, systemError: Int32 = 0, _ description: String) {
    self.code = code
    self.systemError = systemError
    self.description = description
  }
}
