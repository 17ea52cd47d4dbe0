// Stands in for Security, and the part of CoreFoundation that it needs, where there is none: the declarations that the client uses.
import Foundation

public typealias OSStatus = Int32
public typealias CFTypeRef = AnyObject
public final class CFString: Hashable, @unchecked Sendable {
  public static func == (left: CFString, right: CFString) -> Bool { left === right }
  public func hash(into hasher: inout Hasher) {}
}
// Apple's bridges to one.
public typealias CFDictionary = Dictionary<CFString, Any>

public let errSecSuccess: OSStatus = 0
public let errSecItemNotFound: OSStatus = -25300
public let kSecClass = CFString()
public let kSecClassGenericPassword = CFString()
public let kSecAttrService = CFString()
public let kSecAttrAccount = CFString()
public let kSecAttrAccessGroup = CFString()
public let kSecAttrAccessible = CFString()
public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly = CFString()
public let kSecUseDataProtectionKeychain = CFString()
public let kSecReturnData = CFString()
public let kSecMatchLimit = CFString()
public let kSecMatchLimitOne = CFString()
public let kSecValueData = CFString()

public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?)
  -> OSStatus
{
  fatalError()
}
public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
  fatalError()
}
public func SecItemDelete(_ query: CFDictionary) -> OSStatus { fatalError() }
