import HoldfastCore

extension PostgresTriggers {
  /// The function behind an UPDATE.
  ///
  /// It runs as dynamic SQL, since a statement that is kept would be planned for the number of rows that it saw first. The first pass
  /// counts, finds the zones and locks them; the second writes the ledger. Records whose id changed, that went to another zone, or that the
  /// ledger does not know where the row says, are settled.
  func updated(_ index: Int) -> String {
    let (relation, settle) = (relations[index], function(index, "settle"))
    let ledger = "l.record_table = \(name(index)) AND l.id = c.id AND l.state = 0"
    let pairs = pairs(index)
    let strays = rowZone(index) == nil ? "" : " OR l.zone <> c.zone"
    return function(
      "\(function(index, "update"))()",
      declare: [
        "now bigint := holdfast.now()", "zones text[]", "seqs numeric", "rows bigint", "pairs bigint",
        "strays bigint", "moving bigint",
      ],
      """
        LOOP
          EXECUTE $sql$
            SELECT sum(g.pairs), sum(g.strays), sum(g.moving), array_agg(z.zone) FILTER (WHERE z.zone IS NOT NULL),
              sum(z.seq)
            FROM (
              SELECT l.zone, count(*) AS pairs, count(*) FILTER (WHERE c.moves) AS moving,
                count(*) FILTER (WHERE c.differs AND NOT c.moves AND (l.id IS NULL\(strays))) AS strays
              FROM (\(pairs)) c LEFT JOIN holdfast.records l ON \(ledger) AND c.differs GROUP BY l.zone
            ) g LEFT JOIN holdfast.zones z ON z.zone = g.zone
          $sql$ INTO pairs, strays, moving, zones, seqs;
          EXIT WHEN holdfast.hold(zones) IS NOT DISTINCT FROM seqs;
        END LOOP;
        IF strays > 0 THEN
          PERFORM \(settle)(ARRAY(SELECT c.id FROM (\(pairs)) c WHERE c.differs AND NOT c.moves), true);
        ELSIF zones IS NOT NULL THEN
          EXECUTE $sql$
            \(write(index, pairs, ledger))
          $sql$ USING now;
          PERFORM holdfast.advance(zones, now);
        END IF;
      \(move(index, pairs, ledger))  SELECT count(*) INTO rows FROM holdfast_new;
        IF rows > coalesce(pairs, 0) THEN
          PERFORM \(settle)(ARRAY(SELECT \(relation.id.id("o")) FROM holdfast_old o
            EXCEPT SELECT \(relation.id.id("n")) FROM holdfast_new n), true);
          PERFORM \(settle)(ARRAY(SELECT \(relation.id.id("n")) FROM holdfast_new n
            EXCEPT SELECT \(relation.id.id("o")) FROM holdfast_old o), true);
        END IF;
        RETURN NULL;
      """)
  }

  /// The rows of the statement before and after it: whether they differ, in which columns, and whether the record moves.
  private func pairs(_ index: Int) -> String {
    let relation = relations[index]
    let columns = relation.columns
    let names = columns.map { "CASE WHEN \($0.differs("o", "n")) THEN '\($0.name)' END" }
    let differs = columns.map { $0.differs("o", "n") }.joined(separator: " OR ")
    let zone = rowZone(index).map { ", \($0) AS zone" } ?? ""
    return """
      SELECT \(relation.id.id("n")) AS id\(zone), \(differs)\(moves(index).map { " OR \($0)" } ?? "") AS differs,
              \(moves(index) ?? "false") AS moves, concat_ws('|', \(names.joined(separator: ", "))) AS columns
            FROM holdfast_old o JOIN holdfast_new n ON n.\(relation.id.quoted) = o.\(relation.id.quoted)
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
  private func rowZone(_ index: Int) -> String? {
    if relations[index].hasZone { return "n.\"zone\"" }
    switch schema.tables[index].zone {
    case .root: return relations[index].id.id("n")
    case .public(let name): return "'\(name)'::text"
    case .parent: return isPlain(index) ? parent(of: index)?.column.id("n") : nil
    case .explicit, .server, .user: return nil
    }
  }

  /// Writes the new revs of records that stay where they are. Where the row says its zone, the ledger is read once, as it is written.
  private func write(_ index: Int, _ pairs: String, _ ledger: String) -> String {
    let zone = rowZone(index) == nil ? "l.zone" : "c.zone"
    let found = rowZone(index) == nil ? "JOIN holdfast.records l ON \(ledger) " : ""
    let place = rowZone(index) == nil ? "l.ctid = c.place" : "\(ledger) AND l.zone = c.zone"
    return """
      UPDATE holdfast.records l SET seq = c.seq, rev = l.rev + 1, stamps = \(stamps)
            FROM (
              SELECT c.id, c.columns, z.zone, \(rowZone(index) == nil ? "l.ctid AS place, " : "")z.mark,
                z.seq + row_number() OVER (PARTITION BY \(zone)) AS seq
              FROM (\(pairs)) c \(found)JOIN (\(marks)) z ON z.zone = \(zone) WHERE c.differs AND NOT c.moves
            ) c WHERE \(place)
      """
  }

  /// Stamps the columns of records that move, and lets them go: the move is the rev that the stamps name.
  private func move(_ index: Int, _ pairs: String, _ ledger: String) -> String {
    if moves(index) == nil { return "" }
    return """
        IF moving > 0 THEN
          EXECUTE $sql$
            UPDATE holdfast.records l SET stamps = \(stamps)
            FROM (\(pairs)) c, (\(marks)) z WHERE \(ledger) AND z.zone = l.zone AND c.moves
          $sql$ USING now;
          PERFORM \(function(index, "settle"))(ARRAY(SELECT c.id FROM (\(pairs)) c WHERE c.moves), false);
        END IF;

      """
  }

  /// The zones with the text of the stamp that a change has there now.
  private var marks: String {
    "SELECT h.zone, h.seq, '.' || lpad(to_hex(greatest($1, h.clock + 1)), 16, '0') || '.0' AS mark FROM holdfast.zones h"
  }

  /// The stamps of a record with those of its changed columns replaced. `c.columns` has their names, with bars between.
  private var stamps: String {
    """
    CASE WHEN strpos(l.stamps, ';') = 0 THEN l.stamps
              ELSE regexp_replace(l.stamps, ';(' || c.columns || ')=[^;]*', '', 'g') END
              || ';' || replace(c.columns, '|', '=' || (l.rev + 1) || MARK || ';') || '=' || (l.rev + 1) || MARK
    """.split(separator: "MARK", omittingEmptySubsequences: false).joined(separator: "z.mark")
  }
}
