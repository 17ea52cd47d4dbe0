package import HoldfastCore

/// The names that types, properties and cases get in source text.
package enum RecordName {
  /// What is written in capitals inside of a name.
  private static let initialisms: TextSet = ["id", "url", "uuid", "html", "json"]
  /// Types of Swift, Foundation, SwiftUI and Holdfast that a record's type would hide.
  private static let taken: TextSet = [
    "Any", "Array", "Binding", "Bool", "Button", "Character", "Codable", "Color", "Conflict", "Data",
    "Database",
    "Date", "Decimal", "Dictionary", "Divider", "Double", "Duration", "Encoder", "Environment", "Error",
    "Float",
    "Font", "Form", "Gauge", "Grid", "Group", "Identifier", "Image", "Int", "Label", "Layout", "Link", "List",
    "Locale",
    "Member", "Menu", "Never", "Notification", "Object", "Observable", "Operation", "Optional", "Path",
    "Picker",
    "Place", "Position", "Problem", "Protocol", "Record", "Result", "Role", "Scene", "Section", "Self",
    "Sequence",
    "Session", "Set", "Shape", "Slider", "Stamp", "State", "Stepper", "Store", "String", "Tab", "Table",
    "Task",
    "Text", "Timer", "Toggle", "Transaction", "Transport", "Type", "URL", "UUID", "Undo", "Unit", "Value",
    "View", "Window",
  ]
  private static let keywords: TextSet = [
    "as", "associatedtype", "break", "case", "catch", "class", "continue", "default", "defer", "deinit", "do",
    "else",
    "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard", "if", "import", "in",
    "init",
    "inout", "internal", "is", "let", "nil", "operator", "precedencegroup", "private", "protocol", "public",
    "repeat", "rethrows", "return", "self", "static", "struct", "subscript", "super", "switch", "throw",
    "throws", "true", "try", "typealias", "var", "where", "while",
  ]
  private static let irregular: TextMap<String> = [
    "people": "person", "children": "child", "men": "man", "women": "woman", "feet": "foot", "teeth": "tooth",
    "series": "series", "news": "news", "analyses": "analysis", "statuses": "status", "aliases": "alias",
    "indices": "index", "buses": "bus", "movies": "movie", "cookies": "cookie",
  ]

  /// The type of a table's records: `study_sets` are of the type `StudySet`. One that would hide a well-known type is called `ListRecord`.
  package static func type(of table: String) -> String {
    var words = table.split(separator: "_").map(String.init)
    if let last = words.popLast() { words.append(singular(last)) }
    let name = words.map(capitalized).joined()
    return taken.contains(name) || name.isEmpty ? name + "Record" : name
  }

  /// The property of a column: `list_id` is `listID`.
  package static func property(_ column: String) -> String {
    let words = column.split(separator: "_").map(String.init)
    return (words.first ?? "") + words.dropFirst().map(capitalized).joined()
  }

  /// The type of a column's values: `item_kind` has the type `ItemKind`.
  package static func nestedType(_ column: String) -> String {
    let name = column.split(separator: "_").map { capitalized(String($0)) }.joined()
    let hidden: TextSet = [
      "Any", "Bool", "CodingKeys", "Date", "Double", "Int", "Protocol", "Self", "String", "Type",
    ]
    return hidden.contains(name) ? name + "Value" : name
  }

  /// Names that stand beside each other: where two texts would have one name, the later has its number behind it.
  ///
  /// - Parameter reserved: what none of them may be called.
  package static func cases(_ texts: [String], reserved: TextSet) -> [String] {
    var names: [String] = []
    for text in texts {
      var words = text.unicodeScalars.split { !isLetterOrDigit($0) }.map { String($0) }
      if !words.isEmpty { words[0] = lowercasedStart(words[0]) }
      var name = (words.first ?? "empty") + words.dropFirst().map(capitalized).joined()
      if name.utf8.first.map({ (0x30...0x39).contains($0) }) ?? true { name = "value" + name }
      if reserved.contains(name) || ["init", "self", "none", "some"].contains(name) { name += "Value" }
      if names.contains(name) { name += "\(names.count + 1)" }
      names.append(name)
    }
    return names
  }

  /// A name as it stands in source text: a keyword between back-ticks.
  package static func escaped(_ name: String) -> String { keywords.contains(name) ? "`\(name)`" : name }

  private static func singular(_ word: String) -> String {
    if let known = irregular[word] { return known }
    if word.hasSuffix("ies"), word.utf8.count > 4 { return String(word.dropLast(3)) + "y" }
    for ending in ["sses", "shes", "ches", "xes", "zzes"] where word.hasSuffix(ending) {
      return String(word.dropLast(2))
    }
    if word.hasSuffix("ss") || word.hasSuffix("us") || word.hasSuffix("is") { return word }
    return word.hasSuffix("s") && word.utf8.count > 1 ? String(word.dropLast()) : word
  }

  private static func capitalized(_ word: String) -> String {
    if initialisms.contains(word) { return word.uppercased() }
    return word.prefix(1).uppercased() + word.dropFirst()
  }

  /// A word that begins a name: `XMLFile` stays, `Lesson` is `lesson`, `DONE` is `done`.
  private static func lowercasedStart(_ word: String) -> String {
    if word.utf8.allSatisfy({ !(0x61...0x7A).contains($0) }) { return word.lowercased() }
    return word.prefix(1).lowercased() + word.dropFirst()
  }

  private static func isLetterOrDigit(_ scalar: Unicode.Scalar) -> Bool {
    scalar.isASCII && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
  }
}
