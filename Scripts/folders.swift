// Checks that the folders of each module form no circle. SwiftPM sees to the modules; inside of one nothing else does.
//
//     swift Scripts/folders.swift Sources
//
// A folder uses another one when it names a type or function that the other alone declares. It reads text, not the language: a name that is
// declared in two places counts for neither. Ends with 1, and the uses that make the circles.
import Foundation

struct SourceFile {
  let folder: String
  let words: Set<Substring>
  let declared: Set<Substring>
}

func words(of text: Substring) -> [Substring] { text.split { !$0.isLetter && !$0.isNumber && $0 != "_" } }

/// A line without its comment and its texts.
func code(of line: Substring) -> Substring {
  var (kept, isText, last) = ("", false, Character(" "))
  for character in line {
    if character == "\"", last != "\\" { isText.toggle() }
    if !isText, character == "/", last == "/" { break }
    if !isText { kept.append(character) }
    last = character
  }
  return kept[...]
}

func read(_ path: String, folder: String) throws -> SourceFile {
  // Members of types are indented.
  let declaration =
    #/^(?:@\w+ |public |package |final |indirect |nonisolated )*(?:struct|class|enum|actor|protocol|typealias|func) (\w+)/#
  var (used, declared, isLongText) = (Set<Substring>(), Set<Substring>(), false)
  for line in try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") {
    let isEdge = line.ranges(of: "\"\"\"").count % 2 == 1
    if isLongText {
      // What a text interpolates is code.
      for part in line.split(separator: "\\(", omittingEmptySubsequences: false).dropFirst() {
        used.formUnion(words(of: part.prefix { $0 != ")" }))
      }
    } else {
      used.formUnion(words(of: code(of: line)))
      if let found = line.firstMatch(of: declaration) { declared.insert(found.1) }
    }
    if isEdge { isLongText.toggle() }
  }
  return SourceFile(folder: folder, words: used, declared: declared)
}

/// What the folders of a module use of each other, by the user and the used.
func uses(in files: [SourceFile]) -> [String: [String: Set<Substring>]] {
  var owners: [Substring: [String]] = [:]
  for file in files { for name in file.declared { owners[name, default: []].append(file.folder) } }
  var uses: [String: [String: Set<Substring>]] = [:]
  for file in files {
    for word in file.words {
      guard let places = owners[word], places.count == 1, places[0] != file.folder else { continue }
      uses[file.folder, default: [:]][places[0], default: []].insert(word)
    }
  }
  return uses
}

func reached(from start: String, _ uses: [String: [String: Set<Substring>]]) -> Set<String> {
  var (seen, waiting) = (Set<String>(), [start])
  while let folder = waiting.popLast() {
    for next in uses[folder, default: [:]].keys where seen.insert(next).inserted { waiting.append(next) }
  }
  return seen
}

let root = CommandLine.arguments.dropFirst().first ?? "Sources"
let manager = FileManager.default
var hasCircle = false
for module in try manager.contentsOfDirectory(atPath: root).sorted() {
  var files: [SourceFile] = []
  for case let path as String in manager.enumerator(atPath: "\(root)/\(module)") ?? .init()
  where path.hasSuffix(".swift") {
    files.append(try read("\(root)/\(module)/\(path)", folder: (path as NSString).deletingLastPathComponent))
  }
  let uses = uses(in: files)
  for (user, used) in uses.sorted(by: { $0.key < $1.key }) {
    for (folder, names) in used.sorted(by: { $0.key < $1.key })
    where reached(from: folder, uses).contains(user) {
      hasCircle = true
      print(
        "\(module): \(user.isEmpty ? "." : user) -> \(folder.isEmpty ? "." : folder): \(names.sorted().joined(separator: ", "))"
      )
    }
  }
}
if hasCircle {
  print("These folders form circles: move what both need to a lower one.")
  exit(1)
}
