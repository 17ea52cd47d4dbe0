// Fails when a public type of a module has no example of its use in its comment: swift Scripts/examples.swift MODULE.symbols.json
import Foundation

struct Graph: Decodable {
  struct Symbol: Decodable {
    struct Names: Decodable { let title: String }
    struct Kind: Decodable { let identifier: String }
    struct Comment: Decodable {
      struct Line: Decodable { let text: String }
      let lines: [Line]
    }
    let names: Names
    let kind: Kind
    let pathComponents: [String]
    let docComment: Comment?
  }
  let symbols: [Symbol]
}

guard CommandLine.arguments.count == 2,
  let data = FileManager.default.contents(atPath: CommandLine.arguments[1])
else {
  print("Usage: swift Scripts/examples.swift MODULE.symbols.json")
  exit(64)
}
let kinds: Set = ["swift.struct", "swift.class", "swift.enum", "swift.protocol"]
let types = try JSONDecoder().decode(Graph.self, from: data).symbols
  .filter { kinds.contains($0.kind.identifier) && $0.pathComponents.count == 1 }
let missing = types.filter { symbol in
  !(symbol.docComment?.lines.contains { $0.text.hasPrefix("```swift") } ?? false)
}
for symbol in missing.sorted(by: { $0.names.title < $1.names.title }) {
  print("\(symbol.names.title) has no example: show its use in its comment, after ```swift.")
}
exit(missing.isEmpty ? 0 : 1)
