import HoldfastCore
import HoldfastService

extension PostgresTriggers {
  /// The function behind an UPDATE.
  ///
  /// The rows before and after the statement are compared once; what differs is kept in arrays, a portion at a time. That one query is dynamic
  /// SQL, since a plan that is kept would be for the number of rows that it saw first. Records whose id changed, that go to another zone, or
  /// that do not live where the row says, are settled.
  func updated(_ index: Int) -> String {
    let settle = function(index, "settle")
    return function(
      "\(function(index, "update"))()",
      declare: [
        "now bigint := holdfast.now()", "ids text[]", "places text[]", "names text[]", "sizes bigint[]",
        "moving text[]",
        "moves text[]", "others text[]", "strays text[]",
      ],
      """
      \(checkSets(index))  FOR ids, places, names, sizes, moving, moves, others IN EXECUTE $sql$
          SELECT array_agg(c.id) FILTER (WHERE c.kind = 0), array_agg(c.zone) FILTER (WHERE c.kind = 0),
            array_agg(c.columns) FILTER (WHERE c.kind = 0), array_agg(c.size) FILTER (WHERE c.kind = 0),
            array_agg(c.id) FILTER (WHERE c.kind = 1),
            array_agg(c.columns) FILTER (WHERE c.kind = 1), array_agg(c.id) FILTER (WHERE c.kind = 2)
          FROM (SELECT p.*, row_number() OVER () AS place FROM (\(pairs(index))) p) c
          GROUP BY (c.place - 1) / \(Self.portion)
        $sql$ LOOP
          IF ids IS NOT NULL THEN
            \(find(index))
            strays := holdfast.change(\(name(index)), ids, places, names, sizes, now);
      \(checkChanges(index))            IF strays IS NOT NULL THEN
              PERFORM \(settle)(strays, true);
            END IF;
          END IF;
      \(move(index))    IF others IS NOT NULL THEN
            PERFORM \(settle)(others, true);
          END IF;
        END LOOP;
      \(grant(index, "holdfast_new"))  RETURN NULL;
      """)
  }

  /// The rows before and after the statement that differ: `kind` 0 for a change of columns, which `columns` names with bars between, 1 for a
  /// move to another zone, 2 for an id that came or went.
  private func pairs(_ index: Int) -> String {
    let relation = relations[index]
    let id = relation.id.quoted
    let names = relation.columns.map { "CASE WHEN \($0.differs("o", "n")) THEN '\($0.name)' END" }
    return """
      SELECT q.* FROM (
            SELECT coalesce(\(relation.id.id("n")), \(relation.id.id("o"))) AS id, \(rowZone(index, "n") ?? "NULL::text") AS zone,
              CASE WHEN n.\(id) IS NULL OR o.\(id) IS NULL THEN 2 \(moves(index).map { "WHEN \($0) THEN 1 " } ?? "")ELSE 0 END AS kind,
              concat_ws('|', \(names.joined(separator: ", "))) AS columns, \(relation.size("n", of: schema.tables[index])) AS size
            FROM holdfast_old o FULL JOIN holdfast_new n ON n.\(id) = o.\(id) OFFSET 0
          ) q WHERE q.columns <> '' OR q.kind > 0
      """
  }

  /// Whether a row goes to another zone; nil where none can.
  private func moves(_ index: Int) -> String? {
    switch schema.tables[index].zone {
    case .parent: parent(of: index)?.column.differs("o", "n")
    case .explicit, .server: "o.\"zone\" <> n.\"zone\""
    case .root, .user, .public: nil
    }
  }

  /// The zone of a record as its row says it; nil for a table without a zone whose records are found by those above them.
  func rowZone(_ index: Int, _ row: String) -> String? {
    if relations[index].hasZone { return "\(row).\"zone\"" }
    switch schema.tables[index].zone {
    case .root: return relations[index].id.id(row)
    case .public(let name): return "'\(name)'::text"
    case .parent: return isPlain(index) ? parent(of: index)?.column.id(row) : nil
    case .explicit, .server, .user: return nil
    }
  }

  /// Locks the zones of `ids`, and puts where the records are in `places`.
  package func find(_ index: Int) -> String {
    rowZone(index, "n") == nil ? "places := holdfast.locate(\(name(index)), ids);" : Self.hold
  }

  /// Locks the zones in `places`.
  package static let hold = "PERFORM holdfast.hold(ARRAY(SELECT DISTINCT p FROM unnest(places) p));"

  /// Stamps the columns of records that move, and lets them go.
  private func move(_ index: Int) -> String {
    if moves(index) == nil { return "" }
    return """
          IF moving IS NOT NULL THEN
            PERFORM holdfast.restamp(\(name(index)), moving, holdfast.locate(\(name(index)), moving), moves, now);
            PERFORM \(function(index, "settle"))(moving, false);
          END IF;

      """
  }
}
