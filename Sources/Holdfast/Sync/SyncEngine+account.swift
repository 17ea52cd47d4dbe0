import Foundation
import HoldfastCore

extension SyncEngine {
  /// Makes an account and signs this device in. Edits made before belong to it, and are sent with the next sync.
  ///
  /// - Parameters:
  ///   - name: 1 to 64 of a-z, 0-9, `.`, `_` and `-`, beginning with a letter or digit.
  ///   - password: 8 to 1,024 bytes.
  ///   - device: what the device is called: 1 to 64 characters.
  /// - Throws: `Problem` when the server refuses; `StoreError.offline`; `StoreError.otherUser` when the database has a user's data, before anything
  ///   is sent. Sign up with another file then, and import this one: `Store.importRecords(from:namespace:updating:)`.
  public func signUp(name: String, password: String, device: String) async throws {
    try await open("v1/accounts", name: name, password: password, device: device)
  }

  /// Signs this device in. One that was signed in before goes on where it was.
  ///
  /// - Throws: `Problem` when the server refuses; `StoreError.offline`; `StoreError.otherUser` when the database has
  ///   another user's data.
  public func signIn(name: String, password: String, device: String) async throws {
    try await open("v1/sessions", name: name, password: password, device: device)
  }

  /// Signs this device in by the word of an identity provider. One that was signed in before goes on where it was.
  ///
  /// - Parameters:
  ///   - token: a JWT of the provider that the server knows.
  ///   - device: what the device is called: 1 to 64 characters.
  /// - Throws: `Problem` when the server refuses; `StoreError.offline`; `StoreError.otherUser` when the database has
  ///   another user's data.
  public func signIn(token: String, device: String) async throws {
    try await open { try SessionRequests(database: $0).request(token: token, device: device) }
  }

  /// Signs this device in as a guest, with a pass of the user's home. One that was signed in before goes on where it was.
  func signIn(pass: String, device: String) async throws {
    try await open { try SessionRequests(database: $0).request(pass: pass, device: device) }
  }

  /// Signs this device out. Without a connection the token stays valid on the server, but is removed here.
  ///
  /// - Parameters:
  ///   - removingData: whether all records leave the device too.
  ///   - discardingUnsent: whether edits that were not sent, refused ones, and what is still to be recovered to a restored server may be removed with
  ///     them.
  /// - Throws: `StoreError.unsentEdits` when there are such and they may not be discarded; the device then stays signed in.
  public func signOut(removingData: Bool = false, discardingUnsent: Bool = false) async throws {
    let token = try await store.writer.perform { try? $0.sessionToken() }
    try await store.writer.perform {
      try SignOut(database: $0).run(removingData: removingData, discardingUnsent: discardingUnsent)
    }
    await handle(.signedOut)
    if let token {
      _ = try? await transport.send(
        TransportRequest(method: "DELETE", path: "v1/sessions/current", token: token))
    }
  }

  /// Sets or removes the push token of this installation. It is kept on the device, and sent with the next sync: at once while `run()` is there. It
  /// is sent again after each launch and each sign-in, and also belongs to the user who signs in next.
  ///
  /// Call it whenever the system says the token. One that is known already costs nothing.
  ///
  /// ```swift
  /// try await engine.setPushToken(PushToken(kind: "apns", token: deviceToken.base64EncodedString()))
  /// ```
  /// - Parameter token: the token; nil when the device is not to be woken any more.
  /// - Throws: `StoreError.valueUnfit` when its kind or its size is not valid.
  public func setPushToken(_ token: PushToken?) async throws {
    let isNew = try await store.writer.perform { try StoredPushToken(database: $0).set(token) }
    if isNew, isRunning { await handle(.edited) }
  }

  /// Erases the account of this device's user for ever, and signs the device out. What was shared stays with those with whom it was, without
  /// the user's name. Sync before, as what was not sent is lost with the data. Takes a connection.
  ///
  /// - Parameters:
  ///   - password: the user's; nil for a user of an identity provider, who has none.
  ///   - removingData: whether all records leave the device too.
  /// - Throws: `Problem` when the server refuses, with the code `credentialsWrong` for a wrong password; `StoreError.offline`: the account may be
  ///   erased all the same, and the next sync says so.
  public func eraseAccount(password: String?, removingData: Bool = true) async throws {
    let body: JSONValue = password.map { ["password": .string($0)] } ?? [:]
    _ = try await ask("DELETE", "v1/account", body)
    try await store.writer.perform {
      try SignOut(database: $0).run(removingData: removingData, discardingUnsent: removingData)
    }
    await handle(.signedOut)
  }

  /// Asks for something that this device's user may see.
  func get(_ path: String) async throws -> [UInt8] {
    let token = try await store.writer.perform { try $0.sessionToken() }
    return try await content(of: TransportRequest(method: "GET", path: path, token: token))
  }

  /// Sends a request of this device's user.
  ///
  /// - Returns: the content of the answer.
  /// - Throws: `Problem` when the server refuses; `StoreError.offline`.
  func ask(_ method: String, _ path: String, _ body: JSONValue) async throws -> [UInt8] {
    let token = try await store.writer.perform { try $0.sessionToken() }
    return try await content(
      of: TransportRequest(method: method, path: path, token: token, body: body.bytes))
  }

  private func content(of request: TransportRequest) async throws -> [UInt8] {
    let answer = try await send(request)
    if let problem = Problem(document: answer.body), answer.status >= 400 { throw problem }
    // A network that wants a person to sign in to it answers in the server's place, also with 200.
    guard answer.status == 204 || answer.status < 300 && (try? JSONValue(parsing: answer.body)) != nil else {
      throw StoreError(.offline, answer.reason)
    }
    return answer.body
  }

  private func open(_ path: String, name: String, password: String, device: String) async throws {
    try await open {
      try SessionRequests(database: $0).request(path, name: name, password: password, device: device)
    }
  }

  private func open(_ make: @escaping @Sendable (LocalDatabase) throws -> TransportRequest) async throws {
    let request = try await store.writer.perform { try make($0) }
    let answer = try await send(request)
    try await store.writer.perform { try SessionStart(database: $0).adopt(answer) }
    await handle(.signedIn)
  }
}
