import CardsModel
import Holdfast
import SwiftUI

/// The classes of this person: their people, their sets, and links to them.
struct ClassesView: View {
  let cards: Cards
  @Environment(AppSession.self) private var session
  @State private var classes: [Cards.ClassSummary] = []
  @State private var sets: [Cards.SetSummary] = []
  @State private var name = ""
  @State private var link = ""

  var body: some View {
    List {
      ForEach(classes) { group in
        Section(group.name) {
          Text(group.people.joined(separator: ", "))
          ForEach(group.titles, id: \.self) { title in Text(title) }
          Menu("Share a set") {
            ForEach(sets) { set in
              Button(set.title) {
                session.perform { try await $0.share(set: set.id, with: group.id, canEdit: true) }
              }
            }
          }
          Button("Make a link") {
            session.perform { cards in link = try await cards.invite(to: group.id) }
          }
        }
      }
      Section("New class") {
        TextField("Name", text: $name)
        Button("Make") {
          let made = name
          name = ""
          session.perform { try await $0.makeClass(made) }
        }
        .disabled(name.isEmpty)
      }
      Section("Link") {
        TextField("Link", text: $link)
        Button("Join") {
          let token = link
          session.perform { try await $0.join(token) }
        }
        .disabled(link.isEmpty)
      }
    }
    .navigationTitle("Classes")
    .task {
      do {
        // Whatever changes a set or a class changes the members' zones too.
        for try await sets in cards.store.live(Cards.SetSummary.self, Cards.allSets) {
          self.sets = sets
          classes = try await cards.classes()
        }
      } catch { session.failure = "\(error)" }
    }
  }
}
