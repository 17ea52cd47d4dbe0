#if canImport(Security)
  import Foundation
  import Security

  /// Tokens in the keychain, for this device alone; they can be read from the first unlock after a start on, also in the background.
  ///
  /// ```swift
  /// let tokens = KeychainTokens(service: "org.example.app", accessGroup: "TEAM.org.example.shared")
  /// let store = try Store(path: path, schema: schema, options: StoreOptions(tokens: tokens))
  /// ```
  public struct KeychainTokens: TokenStorage {
    private let service: String
    private let accessGroup: String?

    /// - Parameters:
    ///   - service: tells the entries from those of others, such as the app's identifier.
    ///   - accessGroup: the keychain group that an app and its extensions share; nil for the app alone.
    public init(service: String, accessGroup: String? = nil) {
      (self.service, self.accessGroup) = (service, accessGroup)
    }

    /// See `TokenStorage`.
    public func token(for device: String) throws -> String? {
      var query = query(device)
      query[kSecReturnData] = true
      query[kSecMatchLimit] = kSecMatchLimitOne
      var found: CFTypeRef?
      let status = SecItemCopyMatching(query as CFDictionary, &found)
      if status == errSecItemNotFound { return nil }
      guard status == errSecSuccess, let data = found as? Data else { throw Self.failure(status) }
      return String(decoding: data, as: UTF8.self)
    }

    /// See `TokenStorage`.
    public func save(_ token: String?, for device: String) throws {
      let query = query(device)
      let removed = SecItemDelete(query as CFDictionary)
      guard removed == errSecSuccess || removed == errSecItemNotFound else { throw Self.failure(removed) }
      guard let token else { return }
      var item = query
      item[kSecValueData] = Data(token.utf8)
      item[kSecAttrAccessible] = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
      let added = SecItemAdd(item as CFDictionary, nil)
      guard added == errSecSuccess else { throw Self.failure(added) }
    }

    private func query(_ device: String) -> [CFString: Any] {
      var query: [CFString: Any] = [
        kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: device,
        kSecUseDataProtectionKeychain: true,
      ]
      if let accessGroup { query[kSecAttrAccessGroup] = accessGroup }
      return query
    }

    private static func failure(_ status: OSStatus) -> StoreError {
      StoreError(
        .signedOut,
        "The keychain can not be used (\(status)). Unlock the device, or see to the app's entitlements.")
    }
  }
#endif
