import CardsModel
import Holdfast
import SwiftUI

/// The terms of a set, to be added, moved, deleted and studied.
struct SetView: View {
  let cards: Cards
  let set: Cards.SetSummary
  @Environment(AppSession.self) private var session
  @State private var terms: [Term] = []
  @State private var term = ""
  @State private var definition = ""

  var body: some View {
    List {
      ForEach(terms) { term in
        HStack {
          Text(term.term)
          Spacer()
          Text(term.definition)
        }
      }
      .onMove { from, to in
        let ids = from.map { terms[$0].id }
        // The place is beside the true neighbour, whatever moves meanwhile.
        let place: Place = to == 0 ? .first : .after(terms[to - 1].id)
        if case .after(let id) = place, ids.contains(id) { return }
        session.perform { try await $0.move(ids, to: place) }
      }
      .onDelete { places in
        let ids = places.map { terms[$0].id }
        session.perform { cards in for id in ids { try await cards.remove(term: id) } }
      }
      Section("New term") {
        TextField("Term", text: $term)
        TextField("Definition", text: $definition)
        Button("Add") {
          let (newTerm, newDefinition, id) = (term, definition, set.id)
          (term, definition) = ("", "")
          session.perform { try await $0.add(newTerm, newDefinition, to: id) }
        }
        .disabled(term.isEmpty || definition.isEmpty)
      }
      NavigationLink("Study") { StudyView(cards: cards, set: set.id) }
    }
    .navigationTitle(set.title)
    .task {
      do {
        for try await terms in cards.store.live(Term.self, Cards.termsOfSet, [.text(set.id)]) {
          self.terms = terms
        }
      } catch { session.failure = "\(error)" }
    }
  }
}
