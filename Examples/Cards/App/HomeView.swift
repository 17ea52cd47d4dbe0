import CardsModel
import Holdfast
import SwiftUI

/// The sets of this person, and the ways to all the rest.
struct HomeView: View {
  let cards: Cards
  @Environment(AppSession.self) private var session
  @State private var sets: [Cards.SetSummary] = []
  @State private var title = ""

  var body: some View {
    NavigationStack {
      List {
        Section("Sets") {
          ForEach(sets) { set in
            NavigationLink {
              SetView(cards: cards, set: set)
            } label: {
              VStack(alignment: .leading) {
                Text(set.title)
                Text("\(set.count) terms, \(set.subject.rawValue)").font(.caption)
              }
            }
          }
          HStack {
            TextField("New set", text: $title)
            Button("Add") {
              let made = title
              title = ""
              session.perform { try await $0.makeSet(made, []) }
            }
            .disabled(title.isEmpty)
          }
        }
        Section {
          NavigationLink("Classes") { ClassesView(cards: cards) }
          NavigationLink("Catalogue") { CatalogueView(cards: cards) }
          NavigationLink("Account") { AccountView() }
        }
      }
      .navigationTitle("Cards")
    }
    .alert("That did not work", isPresented: isFailureShown) {
      Button("OK") {}
    } message: {
      Text(session.failure ?? "")
    }
    .task {
      do {
        for try await sets in cards.store.live(Cards.SetSummary.self, Cards.allSets) { self.sets = sets }
      } catch { session.failure = "\(error)" }
    }
  }

  private var isFailureShown: Binding<Bool> {
    Binding(
      get: { @MainActor in session.failure != nil },
      set: { @MainActor isShown in if !isShown { session.failure = nil } })
  }
}
