// Holds each name of Apple's and of Swift's library that the client uses against the oldest systems that Package.swift names.
//
//     swift Scripts/apple/available.swift
//
// Scripts/apple/available.txt says since when a name is there. A newer one is allowed in a file that asks by `#available`. A name that is not in the
// list ends the check: look up its availability, and add it. Ends with 1 when something is wrong.
import Foundation

struct Version: Comparable {
  let numbers: [Int]
  init(_ text: Substring) { numbers = text.split(separator: ".").map { Int($0) ?? 0 } }
  static func < (left: Version, right: Version) -> Bool {
    left.numbers.lexicographicallyPrecedes(right.numbers)
  }
}

let systems = ["macOS", "iOS", "tvOS", "watchOS", "visionOS"]

/// A text without comments, and without what is between quotes but for code that is interpolated.
func code(of text: String) -> String {
  var result = text
  result = result.replacingOccurrences(of: ##"/\*[\s\S]*?\*/"##, with: " ", options: .regularExpression)
  result = result.replacingOccurrences(
    of: ##"#?"{3}[\s\S]*?"{3}#?"##, with: " ", options: .regularExpression)
  var kept = ""
  for line in result.split(separator: "\n", omittingEmptySubsequences: false) {
    kept += line.trimmingCharacters(in: .whitespaces).hasPrefix("//") ? "\n" : line + "\n"
  }
  return kept.replacingOccurrences(of: ##"//[^\n]*"##, with: "", options: .regularExpression)
    .replacingOccurrences(of: ##"#?"(\\.|[^"\\\n])*"#?"##, with: " ", options: .regularExpression)
}

func matches(_ pattern: String, in text: String) -> [String] {
  guard let expression = try? NSRegularExpression(pattern: pattern) else { return [] }
  let whole = NSRange(text.startIndex..., in: text)
  return expression.matches(in: text, range: whole).compactMap {
    Range($0.range(at: 1), in: text).map { String(text[$0]) }
  }
}

func sources(_ module: String) throws -> [String] {
  let names = try FileManager.default.subpathsOfDirectory(atPath: "Sources/\(module)")
  return names.filter { $0.hasSuffix(".swift") }.map { "Sources/\(module)/\($0)" }
}

var known: [String: [Version]] = [:]
var newer: [(pattern: String, versions: [Version])] = []
for line in try String(contentsOfFile: "Scripts/apple/available.txt", encoding: .utf8).split(separator: "\n")
where !line.hasPrefix("#") {
  let parts = line.split(separator: " ")
  let versions = parts.prefix(systems.count).map { Version($0) }
  for name in parts.dropFirst(systems.count) {
    if name.hasPrefix("/") {
      newer.append((String(name.dropFirst()), versions))
    } else {
      known[String(name)] = versions
    }
  }
}

let package = try String(contentsOfFile: "Package.swift", encoding: .utf8)
let oldest = systems.map { system in
  Version(
    matches("\\.\(system)\\(\\.v([0-9_]+)\\)", in: package).first.map { $0.replacing("_", with: ".")[...] }
      ?? "0")
}

var texts: [(path: String, text: String)] = []
for module in ["HoldfastCore", "HoldfastSystem", "HoldfastDigest", "HoldfastSQLite", "Holdfast"] {
  for path in try sources(module) {
    texts.append((path, code(of: try String(contentsOfFile: path, encoding: .utf8))))
  }
}
var own: Set<String> = []
for (_, text) in texts {
  own.formUnion(
    matches(#"\b(?:struct|class|enum|protocol|actor|typealias|associatedtype|case) +([A-Z]\w*)"#, in: text))
  // Names of type parameters.
  own.formUnion(matches(#"[<,] *([A-Z]\w*) *(?=[:,>])"#, in: text).filter { known[$0] == nil })
}

var faults: [String] = []
for (path, text) in texts {
  func check(_ name: String, _ versions: [Version]) {
    for (index, system) in systems.enumerated() where versions[index] > oldest[index] {
      let version = versions[index].numbers.map(String.init).joined(separator: ".")
      let isAsked = !matches("(available\\([^)]*\\b\(system) \(version)\\b)", in: text).isEmpty
      if !isAsked {
        faults.append("\(path): \(name) needs \(system) \(version): ask by #available, or do without.")
      }
    }
  }
  for name in Set(matches(#"(?<![\w.#])([A-Z]\w*)"#, in: text)) where !own.contains(name) {
    if let versions = known[name] {
      check(name, versions)
    } else {
      faults.append(
        "\(path): \(name) is not in Scripts/apple/available.txt: look up its availability, and add it.")
    }
  }
  for (pattern, versions) in newer where !matches("(\(pattern))", in: text).isEmpty { check(pattern, versions) }
}
for fault in faults.sorted() { print(fault) }
if !faults.isEmpty { exit(1) }
