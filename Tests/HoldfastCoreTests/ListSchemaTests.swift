import HoldfastCore
import Testing

@Suite("Lists in the schema")
struct ListSchemaTests {
  private func schema(_ position: String) throws(SchemaError) -> SyncSchema {
    let text = """
      {"holdfast": 1, "name": "app", "tables": {
        "boards": {"zone": "root", "columns": {"title": {"type": "text"}}},
        "cards": {"zone": {"parent": "board_id"}, "columns": {
          "board_id": {"type": "reference", "to": "boards", "required": true},
          "group_id": {"type": "reference", "to": "boards", "across": true},
          "title": {"type": "text"}, "position": \(position)}},
        "marks": {"zone": "user", "columns": {"position": {"type": "position"}}}}}
      """
    return try SyncSchema(json: Array(text.utf8))
  }

  private func faults(_ position: String) -> [String] {
    do { _ = try schema(position) } catch { return error.faults.map(\.place) }
    return []
  }

  @Test("a list is what within says, else that of the zone's reference, else the whole zone; JSON keeps it")
  func lists() throws {
    let within = try schema(#"{"type": "position", "within": "group_id"}"#)
    #expect(within.table("cards")?.list(of: 3) == 1)
    #expect(try SyncSchema(json: within.json.bytes) == within)
    #expect(within.table("cards")?.serverIndexes == [["group_id", "position", "id"]])
    let parent = try schema(#"{"type": "position"}"#)
    #expect(parent.table("cards")?.list(of: 3) == 0)
    #expect(parent.table("marks")?.list(of: 0) == nil)
    #expect(parent.table("marks")?.serverIndexes == [["position", "id"]])
  }

  @Test("within is of positions alone, and names a reference of the table")
  func wrong() {
    let place = "tables.cards.columns.position.within"
    #expect(faults(#"{"type": "position", "within": "title"}"#) == [place])
    #expect(faults(#"{"type": "position", "within": "nothing"}"#) == [place])
    #expect(faults(#"{"type": "position", "within": "position"}"#) == [place])
    #expect(faults(#"{"type": "position", "within": 3}"#) == [place])
    #expect(faults(#"{"type": "text", "within": "group_id"}"#) == [place])
    #expect(faults(#"{"type": "position", "within": "group_id"}"#) == [])
  }

  @Test("within may change freely; the server's index follows, and a device has nothing to do")
  func changes() throws {
    let difference = try SchemaDifference(
      from: schema(#"{"type": "position"}"#), to: schema(#"{"type": "position", "within": "group_id"}"#))
    #expect(difference.isEmpty)
    #expect(difference.indexes.map(\.columns) == [["group_id", "position", "id"]])
    #expect(difference.droppedIndexes.map(\.columns) == [["board_id", "position", "id"]])
  }
}
