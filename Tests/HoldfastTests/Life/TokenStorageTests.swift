import Foundation
import HoldfastSystem
import Testing

@testable import Holdfast

@Suite("Tokens outside of the database")
struct TokenStorageTests {
  /// A keychain of a test.
  private final class Keychain: TokenStorage {
    private let tokens = Locked<TextMap<String>>([:])
    var all: [String] { tokens.withLock { $0.map { $0.value } } }
    func token(for device: String) -> String? { tokens.withLock { $0[device] } }
    func save(_ token: String?, for device: String) { tokens.withLock { $0[device] = token } }
  }

  private static let secret = "a-token-that-nobody-may-find"

  private static func holdsSecret(_ fixture: Fixture) -> Bool {
    ["", "-wal"].contains { suffix in
      let bytes = FileManager.default.contents(atPath: fixture.path + suffix) ?? Data()
      return bytes.range(of: Data(secret.utf8)) != nil
    }
  }

  private static func signIn(_ store: Store) async throws {
    let body =
      #"{"user":{"id":"0193aaaa-0000-7000-8000-00000000000a","name":"ann"},"device":{"id":"0193aaaa-0000-7000-8000-00000000000d","name":"phone"},"token":"\#(secret)"}"#
    let session = try #require(Session(body: Array(body.utf8)))
    try await store.writer.perform { try SessionStart(database: $0).adopt(session) }
  }

  @Test("with a storage the token is never in the file, and goes with the sign-out (I10)")
  func outside() async throws {
    let fixture = try Fixture()
    let keychain = Keychain()
    let store = try Store(
      path: fixture.path, schema: fixture.store.schema, options: StoreOptions(tokens: keychain))
    try await Self.signIn(store)
    #expect(!Self.holdsSecret(fixture))
    #expect(keychain.all == [Self.secret])
    #expect(try await store.account()?.isSignedIn == true)
    #expect(try await store.writer.perform { try $0.sessionToken() } == Self.secret)
    // A store without the storage has no session, and makes none of the mark.
    #expect(try await fixture.store.account()?.isSignedIn == false)
    try await store.writer.perform {
      try SignOut(database: $0).run(removingData: false, discardingUnsent: false)
    }
    #expect(keychain.all.isEmpty)
    #expect(try await store.account()?.isSignedIn == false)
  }

  @Test("a token that is in the file already moves out when the store is opened with a storage (I10)")
  func moved() async throws {
    let fixture = try Fixture()
    try await Self.signIn(fixture.store)
    #expect(Self.holdsSecret(fixture))
    await fixture.store.close()
    let keychain = Keychain()
    let store = try Store(
      path: fixture.path, schema: fixture.store.schema, options: StoreOptions(tokens: keychain))
    #expect(try await store.writer.perform { try $0.sessionToken() } == Self.secret)
    await store.close()
    #expect(!Self.holdsSecret(fixture))
  }
}
