import CardsModel
import Holdfast
import SwiftUI

/// The app: the same library as the terminal program, with live queries as views.
@main
struct CardsApp: App {
  @State private var session = AppSession()

  var body: some Scene {
    WindowGroup {
      Group {
        if let cards = session.cards {
          HomeView(cards: cards)
        } else {
          Text(session.failure ?? "")
        }
      }
      .environment(session)
      .task { await session.run() }
    }
  }
}
