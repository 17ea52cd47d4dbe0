package import HoldfastCore

extension RestReader {
  /// The body of `POST /v1/tables/conflicts/{id}/resolve`: `{"take": "winner" | "loser"}` or `{"value": …}`.
  package func resolution(of id: String, _ body: [UInt8]) throws(Problem) -> Content {
    var choices: [ConflictChoice] = []
    try readJSON(body) { reader in
      guard try reader.peekKind() == .object else { throw Problem(.invalidRequest, "The body is an object.") }
      try reader.readObject { key, reader in choices.append(try choice(key, &reader)) }
    }
    guard choices.count == 1, let choice = choices.first else {
      throw Problem(.invalidRequest, "Give either \"take\" or \"value\".")
    }
    guard Identifier.isPossible(id), let table = schema.index(of: TableSchema.conflicts.name) else {
      throw Problem(.recordUnknown)
    }
    let operation = RecordOperation(
      kind: .update, table: table, id: id, rev: .max, stamp: Stamp(rawValue: .max), settings: [])
    let item = RestItem(verb: .resolve, operation: operation, condition: nil, choice: choice)
    return (.single, [.success(item)])
  }

  private func choice(_ key: JSONKey, _ reader: inout JSONReader) throws -> ConflictChoice {
    if key == "value" { return .value(Array(try reader.readRawValue())) }
    guard key == "take", try reader.peekKind() == .string else {
      throw Problem(.invalidRequest, "\(key.string.prefix(64)) has a wrong type or is not known.")
    }
    switch try reader.readString() {
    case "winner": return .winner
    case "loser": return .loser
    default: throw Problem(.invalidRequest, "take is winner or loser.")
    }
  }
}
