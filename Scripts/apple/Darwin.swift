// Stands in for Darwin, and for the part of Dispatch that only Apple's has: the declarations that the client uses beside those of every C library.
public import Dispatch
@_exported import Glibc

public struct os_unfair_lock_s { public init() {} }
public typealias os_unfair_lock = os_unfair_lock_s
public typealias os_unfair_lock_t = UnsafeMutablePointer<os_unfair_lock_s>
public func os_unfair_lock_lock(_ lock: os_unfair_lock_t) {}
public func os_unfair_lock_unlock(_ lock: os_unfair_lock_t) {}

public let O_EVTONLY: Int32 = 0x8000
public let F_FULLFSYNC: Int32 = 51

public protocol DispatchSourceFileSystemObject: DispatchSourceProtocol {}

extension DispatchSource {
  public static func makeFileSystemObjectSource(
    fileDescriptor: Int32, eventMask: FileSystemEvent, queue: DispatchQueue? = nil
  ) -> any DispatchSourceFileSystemObject { fatalError() }
}
