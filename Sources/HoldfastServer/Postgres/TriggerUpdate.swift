import HoldfastCore

extension PostgresTriggers {
  /// The function behind an UPDATE.
  ///
  /// The rows before and after the statement are compared once; what differs is kept in arrays, a portion at a time. That one query is dynamic
  /// SQL, since a plan that is kept would be for the number of rows that it saw first. Records whose id changed, that go to another zone, or
  /// that the ledger has not where the row says, are settled.
  func updated(_ index: Int) -> String {
    let settle = function(index, "settle")
    let ledger = "l.record_table = \(name(index)) AND l.id = u.id AND l.state = 0"
    return function(
      "\(function(index, "update"))()",
      declare: [
        "now bigint := holdfast.now()", "ids text[]", "places text[]", "names text[]", "moving text[]",
        "moves text[]", "others text[]", "zones text[]", "seqs numeric", "known bigint",
      ],
      """
        FOR ids, places, names, moving, moves, others IN EXECUTE $sql$
          SELECT array_agg(c.id) FILTER (WHERE c.kind = 0), array_agg(c.zone) FILTER (WHERE c.kind = 0),
            array_agg(c.columns) FILTER (WHERE c.kind = 0), array_agg(c.id) FILTER (WHERE c.kind = 1),
            array_agg(c.columns) FILTER (WHERE c.kind = 1), array_agg(c.id) FILTER (WHERE c.kind = 2)
          FROM (SELECT p.*, row_number() OVER () AS place FROM (\(pairs(index))) p) c
          GROUP BY (c.place - 1) / \(Self.portion)
        $sql$ LOOP
          IF ids IS NOT NULL THEN
      \(find(index, ledger))      UPDATE holdfast.records l SET seq = u.seq, rev = l.rev + 1, stamps = \(stamps)
              FROM (
                SELECT n.id, n.zone, n.columns, z.mark, z.seq + row_number() OVER (PARTITION BY n.zone) AS seq
                FROM unnest(ids, places, names) n (id, zone, columns) JOIN (\(marks)) z ON z.zone = n.zone
              ) u WHERE \(ledger) AND l.zone = u.zone;
            GET DIAGNOSTICS known = ROW_COUNT;
            PERFORM holdfast.advance(zones, now);
      \(checkChanges(index))            IF known < cardinality(ids) THEN
              PERFORM \(settle)(ARRAY(SELECT u.id FROM unnest(ids, places) u (id, zone)
                WHERE NOT EXISTS (SELECT FROM holdfast.records l WHERE \(ledger) AND l.zone = u.zone)), true);
            END IF;
          END IF;
      \(move(index, ledger))    IF others IS NOT NULL THEN
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
            SELECT coalesce(\(relation.id.id("n")), \(relation.id.id("o"))) AS id, \(rowZone(index) ?? "NULL::text") AS zone,
              CASE WHEN n.\(id) IS NULL OR o.\(id) IS NULL THEN 2 \(moves(index).map { "WHEN \($0) THEN 1 " } ?? "")ELSE 0 END AS kind,
              concat_ws('|', \(names.joined(separator: ", "))) AS columns
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
  private func rowZone(_ index: Int) -> String? {
    if relations[index].hasZone { return "n.\"zone\"" }
    switch schema.tables[index].zone {
    case .root: return relations[index].id.id("n")
    case .public(let name): return "'\(name)'::text"
    case .parent: return isPlain(index) ? parent(of: index)?.column.id("n") : nil
    case .explicit, .server, .user: return nil
    }
  }

  /// Locks the zones of `ids`, and puts where the records are in `places`.
  private func find(_ index: Int, _ ledger: String) -> String {
    if rowZone(index) != nil {
      return """
              SELECT array_agg(DISTINCT p) INTO zones FROM unnest(places) p;
              PERFORM holdfast.hold(zones);

        """
    }
    return lock("ids", ledger) + """
            SELECT array_agg(l.zone ORDER BY u.place) INTO places
              FROM unnest(ids) WITH ORDINALITY u (id, place) LEFT JOIN holdfast.records l ON \(ledger);

      """
  }

  /// Locks the zones in which the ledger has records. What was looked up holds when no zone has moved before its lock was had.
  private func lock(_ ids: String, _ ledger: String) -> String {
    """
            LOOP
              SELECT array_agg(z.zone), sum(z.seq) INTO zones, seqs FROM holdfast.zones z
                WHERE z.zone IN (SELECT l.zone FROM unnest(\(ids)) u (id) JOIN holdfast.records l ON \(ledger));
              EXIT WHEN holdfast.hold(zones) IS NOT DISTINCT FROM seqs;
            END LOOP;

    """
  }

  /// Stamps the columns of records that move, and lets them go: the move is the rev that the stamps name.
  private func move(_ index: Int, _ ledger: String) -> String {
    if moves(index) == nil { return "" }
    return """
          IF moving IS NOT NULL THEN
      \(lock("moving", ledger))      UPDATE holdfast.records l SET stamps = \(stamps)
              FROM (
                SELECT n.id, n.columns, z.zone, z.mark FROM unnest(moving, moves) n (id, columns), (\(marks)) z
                WHERE z.zone = ANY (zones) AND n.columns <> ''
              ) u WHERE \(ledger) AND l.zone = u.zone;
            PERFORM \(function(index, "settle"))(moving, false);
          END IF;

      """
  }

  /// The zones with the text of the stamp that a change has there now.
  private var marks: String {
    "SELECT h.zone, h.seq, '.' || lpad(to_hex(greatest(now, h.clock + 1)), 16, '0') || '.0' AS mark FROM holdfast.zones h OFFSET 0"
  }

  /// The stamps of a record `l` with those of the columns `u.columns` replaced. The pattern is only for what simpler means can't do.
  private var stamps: String {
    """
    CASE
                WHEN strpos(l.stamps, ';') = 0 THEN l.stamps
                WHEN split_part(l.stamps, ';', 3) = '' AND split_part(split_part(l.stamps, ';', 2), '=', 1) = u.columns
                  THEN split_part(l.stamps, ';', 1)
                ELSE regexp_replace(l.stamps, ';(' || u.columns || ')=[^;]*', '', 'g') END
                || ';' || CASE WHEN strpos(u.columns, '|') = 0 THEN u.columns
                  ELSE replace(u.columns, '|', '=' || (l.rev + 1) || u.mark || ';') END || '=' || (l.rev + 1) || u.mark
    """
  }
}
