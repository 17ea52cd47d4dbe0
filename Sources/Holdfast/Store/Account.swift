/// Whom a database belongs to.
///
/// ```swift
/// if let account = try await store.account() {
///   print(account.isSignedIn ? account.name : "Sign in as \(account.name)")
/// }
/// ```
public struct Account: Sendable, Hashable {
  /// The id of the user.
  public let user: String
  /// The name of the account.
  public let name: String
  /// The id of the device.
  public let device: String
  /// Whether the device has a token; without one nothing is synced, and nothing is lost.
  public let isSignedIn: Bool
}
