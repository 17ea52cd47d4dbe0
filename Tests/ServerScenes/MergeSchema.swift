package import HoldfastCore

/// A schema with a column of each policy, and one with each kind of reference.
package enum MergeSchema {
  package static func schema() throws -> SyncSchema { try SyncSchema(json: Array(text.utf8)) }

  private static let text = """
    {"holdfast": 1, "name": "merge", "tables": {
      "lists": {"zone": "root", "columns": {"title": {"type": "text"}}},
      "tags": {"zone": {"parent": "list_id"}, "unique": [["name"]], "columns": {
        "list_id": {"type": "reference", "to": "lists", "required": true, "on_delete": "cascade"},
        "name": {"type": "text", "required": true, "max_length": 8}}},
      "items": {"zone": {"parent": "list_id"}, "columns": {
        "list_id": {"type": "reference", "to": "lists", "required": true, "on_delete": "cascade"},
        "title": {"type": "text"}, "note": {"type": "text"}, "body": {"type": "text", "merge": "text", "max_length": 40},
        "stays": {"type": "text", "merge": "server"}, "last": {"type": "text", "merge": "client"},
        "asked": {"type": "text", "merge": "ask"},
        "votes": {"type": "integer", "merge": "counter", "min": -5, "max": 10},
        "labels": {"type": "json", "merge": "set"}, "place": {"type": "position"},
        "tag_id": {"type": "reference", "to": "tags", "on_delete": "set_null"}}},
      "parts": {"zone": {"parent": "item_id"}, "columns": {
        "item_id": {"type": "reference", "to": "items", "required": true, "on_delete": "cascade"},
        "note": {"type": "text"}}},
      "seals": {"zone": {"parent": "list_id"}, "columns": {
        "list_id": {"type": "reference", "to": "lists", "required": true, "on_delete": "cascade"},
        "item_id": {"type": "reference", "to": "items", "on_delete": "restrict"}}}
    }}
    """
}
