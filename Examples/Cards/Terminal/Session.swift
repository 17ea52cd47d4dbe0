import CardsModel
import Foundation
import Holdfast

/// One call of a command: the cards, the options, and how sets and terms are named.
struct Session {
  let cards: Cards
  let options: Options

  /// The password, which is on no command line.
  func password() throws -> String {
    guard let password = ProcessInfo.processInfo.environment["CARDS_PASSWORD"] else {
      throw Usage("Set CARDS_PASSWORD to the password.")
    }
    return password
  }

  /// The place that the options name; the end unless they do.
  func place(in set: String) async throws -> Place {
    if let term = options.values["after"] { return .after(try await self.term(term, in: set)) }
    return options.flags.contains("first") ? .first : .last
  }

  /// The id of a set, by its id, its title, or how its title begins.
  func set(_ name: String) async throws -> String {
    try find(name, in: try await cards.sets().map { ($0.id, $0.title) }, "set \"\(name)\"")
  }

  func term(_ name: String, in set: String) async throws -> String {
    try find(name, in: try await cards.terms(of: set).map { ($0.id, $0.term) }, "term \"\(name)\"")
  }

  func group(_ name: String) async throws -> String {
    try find(name, in: try await cards.classes().map { ($0.id, $0.name) }, "class \"\(name)\"")
  }

  func catalogueSet(_ name: String) async throws -> String {
    try find(
      name, in: try await cards.catalogue().map { ($0.id, $0.title) }, "set \"\(name)\" in the catalogue")
  }

  /// The number of a refused change set.
  func refused(_ word: String) async throws -> Int64 {
    guard let set = try await cards.store.quarantined().first(where: { String($0.number) == word }) else {
      throw CardsError.notFound("refused change \"\(word)\"")
    }
    return set.number
  }

  private func find(_ name: String, in all: [(id: String, title: String)], _ what: String) throws -> String {
    for matches in [
      all.filter { $0.id == name || $0.title == name },
      all.filter { $0.title.lowercased().hasPrefix(name.lowercased()) },
    ] {
      if matches.count == 1 { return matches[0].id }
      if matches.count > 1 { throw CardsError.several(what, matches.map { "\($0.id)  \($0.title)" }) }
    }
    throw CardsError.notFound(what)
  }
}
