// Stands in for Network where there is none: the declarations that the client uses, in the form that Apple's has.
public import Dispatch

public struct NWPath: Sendable {
  public enum Status: Sendable { case satisfied, unsatisfied, requiresConnection }
  public let status: Status
}

public final class NWPathMonitor: @unchecked Sendable {
  public init() {}
  public var pathUpdateHandler: (@Sendable (NWPath) -> Void)?
  public func start(queue: DispatchQueue) {}
  public func cancel() {}
}
