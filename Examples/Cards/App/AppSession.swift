import CardsModel
import Foundation
import Holdfast
import Observation

/// What all views share: the cards, how the sync is going, and what went wrong last.
@MainActor @Observable
final class AppSession {
  let cards: Cards?
  private(set) var state = SyncState.idle
  private(set) var account: Account?
  /// What went wrong last, for the person; nil after it was read.
  var failure: String?

  init() {
    do {
      let folder = try FileManager.default.url(
        for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
      // The catalogue is in the app: a new device has it before it ever had a network.
      let store = try Store(
        path: folder.appending(path: "cards.db").path, schema: .cards(),
        seed: Bundle.main.url(forResource: "catalogue", withExtension: "db"))
      let server = Bundle.main.object(forInfoDictionaryKey: "CardsServer") as? String
      cards = Cards(store: store, server: server.flatMap { URL(string: $0) })
    } catch {
      cards = nil
      failure = "The cards can't be opened. \(error)"
    }
  }

  /// Syncs until the task ends, and follows how that is going.
  func run() async {
    guard let engine = cards?.engine else { return }
    account = try? await cards?.store.account()
    async let syncing: Void = engine.run()
    for await state in await engine.states { self.state = state }
    await syncing
  }

  /// Does what a person asked for, and keeps what went wrong for them to read.
  func perform(_ action: @escaping @MainActor (Cards) async throws -> Void) {
    guard let cards else { return }
    Task {
      do { try await action(cards) } catch { failure = "\(error)" }
    }
  }

  /// Signs in, or makes the account.
  func signIn(_ name: String, _ password: String, isNew: Bool) {
    perform { cards in
      let engine = try cards.requireEngine()
      if isNew {
        try await engine.signUp(name: name, password: password, device: "phone")
      } else {
        try await engine.signIn(name: name, password: password, device: "phone")
      }
      self.account = try await cards.store.account()
    }
  }

  /// How the sync is going, in a few words.
  var stateText: String {
    switch state {
    case .idle: "Everything is synced."
    case .waiting, .awaitingRecovery: "Some sets come later."
    case .uploading(let done, let total): "Sending \(done) of \(total)."
    case .downloading(let done, let total): "Receiving \(done) of \(total)."
    case .offline: "Offline. Everything works, and is sent later."
    case .signedOut: "Not signed in. Everything stays on this device."
    }
  }
}
