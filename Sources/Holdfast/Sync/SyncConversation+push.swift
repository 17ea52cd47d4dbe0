import HoldfastCore

/// The request that tells the server the push token, ahead of a request of a sync.
package struct PushTokenQuestion: Sendable {
  /// The token of the session.
  let session: String
  let token: PushToken?
  /// The limit of the sync request that follows.
  let changeSetLimit: Int
}

/// Sending the push token: docs/PUSH.md, section on push tokens.
extension SyncConversation {
  /// Which push token the server has from this engine.
  struct PushTokenSending {
    /// The session and the token of the last request that was answered.
    var last: (session: String, token: PushToken?)?
    /// Whether it was sent in this sync already.
    var isTried = false
  }

  /// Sends the push token where the server does not have it from this engine: after a launch, a change and a sign-in.
  ///
  /// - Returns: whether it was sent. The sync goes on with its answer.
  func sendPushToken(before changeSetLimit: Int, _ database: LocalDatabase) throws -> Bool {
    guard !pushToken.isTried, let stored = try StoredPushToken(database: database).read(),
      let session = try database.sessionToken()
    else { return false }
    if let last = pushToken.last, last.session == session, last.token == stored { return false }
    pushToken.isTried = true
    var body: [UInt8] = []
    if let stored {
      body =
        JSONValue.object([.init("kind", .string(stored.kind)), .init("token", .string(stored.token))]).bytes
    }
    let request = TransportRequest(
      method: stored == nil ? "DELETE" : "PUT", path: "v1/push-token", token: session, body: body)
    effects.append(
      .send(
        request,
        .pushToken(PushTokenQuestion(session: session, token: stored, changeSetLimit: changeSetLimit))))
    return true
  }

  /// Takes the answer.
  ///
  /// - Returns: the failure of the sync; nil where it goes on.
  func pushToken(
    _ answer: Result<TransportAnswer, StoreError>, _ question: PushTokenQuestion, _ database: LocalDatabase
  ) -> SyncMachine.Failure? {
    do {
      let answer = try answer.get()
      if answer.endsSession, try database.sessionToken() == question.session {
        refusedToken = question.session
        return .expired
      }
      // A server that is busy, or was not reached, gets it with the next sync; one that refuses it, after the next launch.
      let isHeard = answer.status == 204 || Problem(document: answer.body) != nil
      if !isHeard || answer.status == 401 || answer.status == 429 || answer.status >= 500 { return nil }
      pushToken.last = (question.session, question.token)
      if question.token == nil, answer.status == 204 {
        try StoredPushToken(database: database).forgetRemoval()
      }
      return nil
    } catch {
      return later(error)
    }
  }
}
