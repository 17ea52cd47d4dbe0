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

  @Test("a sign-out that is refused leaves the device signed in, and its token where it is (I3)")
  func refused() async throws {
    let fixture = try Fixture()
    let keychain = Keychain()
    let store = try Store(
      path: fixture.path, schema: fixture.store.schema, options: StoreOptions(tokens: keychain))
    try await Self.signIn(store)
    try await store.write { try $0.insert(List(id: IDs.list, title: "Home")) }
    let error = await #expect(throws: StoreError.self) {
      try await store.writer.perform {
        try SignOut(database: $0).run(removingData: true, discardingUnsent: false)
      }
    }
    #expect(error?.code == .unsentEdits)
    #expect(try await store.account()?.isSignedIn == true)
    #expect(keychain.all == [Self.secret])
  }

  @Test("a sign-in that can't be written leaves the token of before")
  func notWritten() async throws {
    let fixture = try Fixture()
    let keychain = Keychain()
    let store = try Store(
      path: fixture.path, schema: fixture.store.schema, options: StoreOptions(tokens: keychain))
    try await Self.signIn(store)
    let body =
      #"{"user":{"id":"0193aaaa-0000-7000-8000-00000000000b","name":"bob"},"device":{"id":"0193aaaa-0000-7000-8000-00000000000d","name":"phone"},"token":"another"}"#
    let session = try #require(Session(body: Array(body.utf8)))
    let error = await #expect(throws: StoreError.self) {
      try await store.writer.perform { try SessionStart(database: $0).adopt(session) }
    }
    #expect(error?.code == .otherUser)
    #expect(keychain.all == [Self.secret])
  }

  @Test("after a sign-out neither the file nor its log has the token, or records that were removed (I10)")
  func overwritten() async throws {
    let fixture = try Fixture()
    try await Self.signIn(fixture.store)
    try await fixture.answer(IDs.part(IDs.listChange + "," + IDs.itemChange(Self.secret)))
    #expect(Self.holdsSecret(fixture))
    try await fixture.store.writer.perform {
      try SignOut(database: $0).run(removingData: true, discardingUnsent: false)
    }
    #expect(!Self.holdsSecret(fixture))
    try await fixture.store.write { try $0.insert(List(id: IDs.list, title: "Next")) }
  }

  @Test("while the storage can't be read, the app writes and undoes as ever, and is signed in (I3)")
  func locked() async throws {
    struct IsLocked: Error {}
    struct LockedKeychain: TokenStorage {
      let isLocked: @Sendable () -> Bool
      func token(for device: String) throws -> String? {
        if isLocked() { throw IsLocked() }
        return TokenStorageTests.secret
      }
      func save(_ token: String?, for device: String) throws {}
    }
    let fixture = try Fixture()
    let isLocked = Locked(false)
    let store = try Store(
      path: fixture.path, schema: fixture.store.schema,
      options: StoreOptions(tokens: LockedKeychain { isLocked.withLock { $0 } }))
    try await Self.signIn(store)
    isLocked.withLock { $0 = true }
    var statuses = SyncEngine(store: store, transport: NoServer()).statuses.makeAsyncIterator()
    #expect(await statuses.next()?.waiting == 0)
    try await store.write { try $0.insert(List(id: IDs.list, title: "Home")) }
    while let status = await statuses.next() { if status.waiting == 1 { break } }
    #expect(try await store.account()?.isSignedIn == true)
    try await store.undo()
    #expect(try await store.read { try $0.count(List.all) } == 0)
  }

  private struct NoServer: Transport {
    func send(_ request: TransportRequest) async throws -> TransportAnswer {
      throw StoreError(.offline, "There is no server.")
    }
  }
}
