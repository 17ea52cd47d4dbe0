import CardsModel
import Holdfast
import SwiftUI

/// The sets that came with the app; a copy of one can be changed, shared and studied.
struct CatalogueView: View {
  let cards: Cards
  @Environment(AppSession.self) private var session
  @State private var sets: [CatalogueSet] = []

  var body: some View {
    List {
      ForEach(sets) { set in
        HStack {
          Text(set.title)
          Spacer()
          Button("Copy") { session.perform { _ = try await $0.copy(catalogueSet: set.id) } }
        }
      }
    }
    .navigationTitle("Catalogue")
    .task {
      do { sets = try await cards.catalogue() } catch { session.failure = "\(error)" }
    }
  }
}
