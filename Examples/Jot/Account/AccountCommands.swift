import Foundation
import Holdfast

extension Command {
  static let signUp = Command(
    "sign-up", taking: "NAME", words: 1...1, "make an account, and sign this device in", details: credentials,
    options: [.server, .password, .device]
  ) { call in
    try await enter(call) { try await $0.signUp(name: $1, password: $2, device: $3) }
  }

  static let signIn = Command(
    "sign-in", taking: "NAME", words: 1...1, "sign this device in to an account, and fetch its lists",
    details: credentials,
    options: [.server, .password, .device]
  ) { call in
    try await enter(call) { try await $0.signIn(name: $1, password: $2, device: $3) }
  }

  static let signOut = Command(
    "sign-out", "sign this device out; its lists stay, unless said otherwise",
    options: [.server, .removeData, .discardUnsent]
  ) { call in
    let notebook = try call.open()
    guard let account = try await notebook.store.account() else {
      throw Failure(.signedOut, "Nobody is signed in.")
    }
    try await notebook.engine().signOut(
      removingData: call.arguments.has(.removeData), discardingUnsent: call.arguments.has(.discardUnsent))
    let rest =
      call.arguments.has(.removeData)
      ? "its lists are gone from this device" : "this device is still \(account.name)'s"
    Terminal.output.say("Signed out; \(rest).")
  }

  static let eraseAccount = Command(
    "erase-account", taking: "NAME", words: 1...1,
    "erase the account for ever, and remove its lists from here",
    details: """
      What you share stays with the others, without your name. Edits that were not synced are lost.
      """, options: [.server, .password]
  ) { call in
    let notebook = try call.open()
    guard let account = try await notebook.store.account() else {
      throw Failure(.signedOut, "Nobody is signed in.")
    }
    guard account.name == call.words[0] else {
      throw Failure(
        .usage, "This device is signed in as \(account.name): say that name to erase the account.")
    }
    try await notebook.engine().eraseAccount(password: try password(call))
    Terminal.output.say("\(account.name) is erased, and nothing of it is on this device.")
  }

  private static let credentials = """
    Names have 1 to 64 characters of a-z 0-9 . _ -; passwords 8 to 1,024 bytes. What was written here before
    belongs to the account, and is sent.
    """

  private typealias Entrance =
    @Sendable (SyncEngine, _ name: String, _ password: String, _ device: String) async throws -> Void

  private static func enter(_ call: Invocation, by entrance: Entrance) async throws {
    let notebook = try call.open()
    let engine = try notebook.engine()
    let password = try password(call)
    let device = call.arguments[.device] ?? ProcessInfo.processInfo.hostName
    try await entrance(engine, call.words[0], password, String(device.prefix(64)))
    try notebook.rememberServer()
    Terminal.output.say("Signed in as \(call.words[0]).")
    try await Syncing(notebook, engine).run()
  }

  /// The password of the account that a command names.
  private static func password(_ call: Invocation) throws -> String {
    try call.arguments[.password] ?? ProcessInfo.processInfo.environment["JOT_PASSWORD"]
      ?? Terminal.password("Password of \(call.words[0]): ")
  }
}
