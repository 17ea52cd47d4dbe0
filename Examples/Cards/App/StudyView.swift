import CardsModel
import Holdfast
import SwiftUI

/// One term after the other, those that were missed most first; the answers are counted for this person alone.
struct StudyView: View {
  let cards: Cards
  let set: String
  @Environment(AppSession.self) private var session
  @State private var terms: [Term] = []
  @State private var isShown = false

  var body: some View {
    VStack {
      if let term = terms.first {
        Text(term.term).font(.title)
        if isShown {
          Text(term.definition)
          HStack {
            Button("I missed it") { answer(term, isKnown: false) }
            Button("I knew it") { answer(term, isKnown: true) }
          }
        } else {
          Button("Show") { isShown = true }
        }
      } else {
        Text("Done.")
      }
    }
    .task {
      do { terms = try await cards.termsToStudy(in: set) } catch { session.failure = "\(error)" }
    }
  }

  private func answer(_ term: Term, isKnown: Bool) {
    terms.removeFirst()
    isShown = false
    session.perform { try await $0.answer(term.id, isKnown: isKnown) }
  }
}
