/// What a test may leave on its devices.
public struct Pending: OptionSet, Sendable {
  /// The bits of the parts.
  public let rawValue: Int

  /// A set of its bits.
  public init(rawValue: Int) { self.rawValue = rawValue }

  /// Edits that the server has not confirmed.
  public static let unsent = Pending(rawValue: 1)
  /// Change sets that the server refused.
  public static let quarantined = Pending(rawValue: 2)
}

/// Edits were left on devices of a test, or the devices do not come to rest.
public struct UnsettledWorld: Error, CustomStringConvertible {
  /// A line for each device and reason.
  public let findings: [String]

  /// All lines.
  public var description: String { findings.joined(separator: "\n") }
}

extension TestDevice {
  /// What is left here that may not be.
  func findings(allowing allowed: Pending) async throws -> [String] {
    var findings: [String] = []
    if !allowed.contains(.unsent) {
      let count = try await store.waitingOperations()
      if count > 0 {
        let reason =
          !isConnected
          ? "The device is not connected."
          : !isReachable ? "The network is cut, or the server is stopped." : "Nothing has synced it since."
        findings.append(
          "\(name) of \(user): \(count) \(count == 1 ? "operation is" : "operations are") not sent. \(reason)"
        )
      }
    }
    if !allowed.contains(.quarantined) {
      for set in try await store.quarantined() {
        let tables = set.operations.map { "\($0.kind.rawValue) of \($0.table)" }.joined(separator: ", ")
        findings.append("\(name) of \(user): the server refused a change set (\(tables)). \(set.reason)")
      }
    }
    return findings
  }
}
