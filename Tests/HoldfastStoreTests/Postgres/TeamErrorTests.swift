import HoldfastCore
import HoldfastHTTP
import HoldfastPostgres
import ServerScenes
import Synchronization
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// What the rules of a team in the database raise: I6, I12.
@Suite struct TeamErrorTests {
  private let server: TestServer
  private let alice: TestDevice
  private let bob: TestDevice
  private let sql: SQLWriter

  init() throws {
    server = try TestServer(engine: .postgres)
    alice = try server.signUp("alice")
    bob = try server.signUp("bob")
    sql = try SQLWriter(server)
  }

  private func note(_ id: String, _ text: String) -> Sent { .create("notes", id, ["text": .string(text)]) }

  /// Codes that say what the statement itself is, or does: no retry heals them.
  private static let lasting = [
    "01000", "02000", "03000", "09000", "0A000", "0F000", "0L000", "0P000", "0Z000", "20000", "21000",
    "22000",
    "22012", "22P02", "23000", "23502", "23503", "23505", "23514", "23P01", "24000", "25000", "25001",
    "25P02",
    "26000", "27000", "28000", "28P01", "2B000", "2D000", "2F000", "34000", "38000", "38003", "39000",
    "39P01",
    "3B000", "3D000", "3F000", "42000", "42501", "42601", "42703", "42P01", "42P07", "44000", "54000",
    "54001",
    "55000", "55006", "57014", "F0000", "HF007", "HV000", "P0000", "P0001", "P0002", "P0004", "XX000",
    "ZZ999",
  ]

  @Test("an error that a change set causes again and again refuses it alone, whatever its SQLSTATE")
  func lasting() throws {
    try sql.run(
      """
      CREATE FUNCTION ours() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF length(NEW.text) = 5 THEN RAISE EXCEPTION 'no %', NEW.text USING ERRCODE = NEW.text; END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER ours BEFORE INSERT ON notes FOR EACH ROW EXECUTE FUNCTION ours();
      """)
    let inline = try #require(server.inline)
    for code in Self.lasting {
      let ids = (0..<3).map { _ in alice.newID() }
      let before = alice.confirmed
      let answers = inline.respond(to: [
        alice.request([
          [note(ids[0], "one")], [note(alice.newID(), "beside it"), note(alice.newID(), code)],
          [note(ids[1], "next")],
        ]), bob.request([[note(ids[2], "Bob")]]),
      ])
      guard answers.map(\.status) == [200, 200] else {
        Issue.record("\(code): \(answers.map(\.status))")
        continue
      }
      let answer = try alice.apply(answers[0])
      #expect(answer.confirmed == before + 4, "\(code)")
      let refused = try #require(answer.refused.last)
      #expect(refused.first == before + 2 && refused.operation == before + 3, "\(code)")
      let problem = try #require(Problem(document: refused.problem))
      #expect(problem.code == .invalidOperation && problem.detail.contains(code))
      #expect(!problem.detail.contains("no "))
      _ = try bob.apply(answers[1])
      #expect(alice.has("notes", ids[0]) && alice.has("notes", ids[1]) && bob.has("notes", ids[2]), "\(code)")
    }
    #expect(try Administration(server.location).doctor() == [])
  }

  @Test(
    "an error that passes refuses nothing: the same is taken when it is sent again",
    arguments: ["40001", "40P01", "53200", "53400", "55P03", "58000", "58030", "25006", "57000"])
  func passing(code: String) throws {
    // A sequence does not go back with the transaction: the first tries fail.
    try sql.run(
      """
      CREATE SEQUENCE tries;
      CREATE FUNCTION ours() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.text = 'x' AND nextval('tries') < 4 THEN RAISE EXCEPTION 'later' USING ERRCODE = '\(code)'; END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER ours BEFORE INSERT ON notes FOR EACH ROW EXECUTE FUNCTION ours();
      """)
    let (id, other) = (alice.newID(), bob.newID())
    let answers = try #require(server.inline).respond(to: [
      alice.request([[note(id, "x")]]), bob.request([[note(other, "Bob")]]),
    ])
    _ = try bob.apply(answers[1])
    #expect(bob.has("notes", other))
    let answer = try alice.sync([note(id, "x")])
    #expect(answer.refused.isEmpty && alice.has("notes", id))
  }

  @Test(
    "where the server's own statements do not fit the database, nothing is refused (I3, I12)",
    arguments: [
      ("DROP FUNCTION holdfast.expect(bigint, bigint, text)", ""),
      (
        "ALTER TABLE notes ALTER text TYPE integer USING 1",
        "ALTER TABLE notes ALTER text TYPE text USING text::text"
      ), ("ALTER TABLE notes RENAME text TO words", "ALTER TABLE notes RENAME words TO text"),
    ])
  func misfits(_ change: String, _ mend: String) throws {
    let list = try bob.makeList()
    let (id, before) = (alice.newID(), alice.confirmed)
    try alice.sync([note(alice.newID(), "one")])
    try sql.run(change)
    let edit: Sent = .update("lists", list, ["title": "Bob"], base: ["title": "Groceries"])
    let answers = try #require(server.inline).respond(to: [
      alice.request([[note(id, "x")]]), bob.request([[edit]]),
    ])
    #expect(answers[0].status == 503)
    if !mend.isEmpty { #expect(answers[1].status == 200) }
    try sql.run(mend)
    try server.reopen()
    #expect(try alice.sync([note(id, "x")]).refused.isEmpty)
    #expect(alice.has("notes", id) && alice.confirmed == before + 2)
  }

  @Test("a broken row of Holdfast's own refuses nothing: it is a fault, until it is mended (I3)")
  func brokenRow() throws {
    let list = try alice.makeList()
    _ = try alice.makeItem(list)
    let edit: Sent = .update("lists", list, ["title": "new"], base: ["title": "Groceries"])
    try sql.run("UPDATE holdfast.zones SET seq = 1 WHERE zone = '\(list)'")
    #expect(try server.respond(to: alice.request([[edit]])).status == 500)
    try sql.run(
      "UPDATE holdfast.zones z SET seq = (SELECT max(r.seq) FROM holdfast.records r WHERE r.zone = z.zone) WHERE zone = '\(list)'"
    )
    #expect(try alice.sync([edit]).refused.isEmpty)
  }

  @Test(
    "a trigger of the team that writes tables itself is named by the doctor and at the start; others are not")
  func named() throws {
    try sql.run(
      """
      CREATE FUNCTION counts() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        UPDATE lists SET note = 'one more' WHERE id = NEW.list_id; RETURN NULL;
      END $$;
      CREATE FUNCTION checks() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        -- Never update what is here.
        IF TG_OP = 'DELETE' THEN RAISE EXCEPTION 'do not delete'; END IF;
        NEW.title := trim(NEW.title); RETURN NEW;
      END $$;
      CREATE TRIGGER counts AFTER INSERT ON items FOR EACH ROW EXECUTE FUNCTION counts();
      CREATE TRIGGER checks BEFORE INSERT OR UPDATE ON items FOR EACH ROW EXECUTE FUNCTION checks();
      """)
    let findings = try Administration(server.location).doctor().map(\.description)
    #expect(findings.count == 1 && findings[0].hasPrefix("trigger: counts on items "))
    server.inline = nil
    let notices = Mutex<[String]>([])
    _ = try InlineServer(
      server.location, schema: nil, environment: server.world.environment,
      notice: { line in notices.withLock { $0.append(line) } })
    #expect(notices.withLock { $0 } == findings)
  }

  @Test("what the team's functions of other makes forbid is refused, alone")
  func others() throws {
    try sql.run(
      """
      CREATE FUNCTION gone() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.text = 'gone' THEN PERFORM * FROM nowhere; END IF;
        IF NEW.text = 'rows' THEN PERFORM (SELECT n FROM generate_series(1, 2) n); END IF;
        IF NEW.text = 'deep' THEN EXECUTE 'SELECT ' || repeat('(', 20000) || '1' || repeat(')', 20000); END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER gone BEFORE INSERT ON notes FOR EACH ROW EXECUTE FUNCTION gone();
      """)
    for text in ["gone", "rows", "deep"] {
      let id = alice.newID()
      let answer = try alice.sync([note(alice.newID(), text)], [note(id, "next")])
      #expect(answer.refused.last?.last == answer.confirmed - 1, "\(text)")
      #expect(alice.has("notes", id), "\(text)")
    }
  }
}
