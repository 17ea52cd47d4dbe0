import Foundation

/// A change set as its bytes say, in the outbox or in quarantine.
struct SentChangeSet {
  private(set) var tokens: Set<Int> = []
  private(set) var operations: Set<OperationName> = []

  /// Reads the bytes; nil when they are no change set.
  init?(_ body: String) {
    guard let operations = try? JSONSerialization.jsonObject(with: Data(body.utf8)) as? [[String: Any]]
    else { return nil }
    for operation in operations {
      guard let kind = operation["op"] as? String, let table = operation["table"] as? String,
        let id = operation["id"] as? String
      else { return nil }
      self.operations.insert(OperationName(kind: kind, key: RecordKey(table: table, id: id)))
      // What an edit was based on is not said by it.
      for value in (operation["columns"] as? [String: Any] ?? [:]).values {
        for text in value as? [Any] ?? [value] {
          if let text = text as? String { tokens.formUnion(Tokens.inside(text)) }
        }
      }
    }
  }
}
