import HoldfastCore
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// Triggers of a team that change where a record is before it is written: I2, I4, I10, I12.
@Suite struct RewrittenRowTests {
  private static let team = """
    CREATE TABLE boards (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), title text);
    CREATE TABLE cards (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), board_id uuid NOT NULL REFERENCES boards ON DELETE CASCADE, title text);
    CREATE TABLE marks (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), card_id uuid NOT NULL REFERENCES cards ON DELETE CASCADE, title text);
    """
  /// Puts a row whose title says so elsewhere, and changes other titles.
  private static func trigger(_ table: String, _ parent: String) -> String {
    """
    CREATE FUNCTION places_\(table)() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF NEW.title LIKE 'to %' THEN
        NEW.\(parent) := substr(NEW.title, 4);
      ELSIF NEW.title = 'id' THEN
        SELECT gen_random_uuid() INTO NEW.id;
      END IF;
      NEW.title := upper(NEW.title);
      RETURN NEW;
    END $$;
    CREATE TRIGGER places BEFORE INSERT OR UPDATE ON \(table) FOR EACH ROW EXECUTE FUNCTION places_\(table)();
    """
  }

  @Test(
    "a trigger that moves records is named and refused; one that only fills in what is missing is not (I10)")
  func named() throws {
    let url = try TemporaryPostgres.shared.makeDatabase()
    let sql = try SQLWriter(url: url)
    try sql.run(
      Self.team
        + Self.trigger("cards", "board_id").replacing(
          "substr(NEW.title, 4)", with: "substr(NEW.title, 4)::uuid")
          + """
          CREATE FUNCTION fills() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN
            IF NEW.id IS NULL THEN NEW.id := gen_random_uuid(); END IF;
            -- NEW.board_id := 1;
            IF NEW.card_id = NEW.id THEN NEW.title := 'own'; END IF;
            RETURN NEW;
          END $$;
          CREATE TRIGGER fills BEFORE INSERT ON marks FOR EACH ROW EXECUTE FUNCTION fills();
          """)
    let adoption = Adoption(PostgresLocation(url))
    let schema = try SyncSchema(json: Array(adoption.propose().text.utf8))
    let error = #expect(throws: ServerError.self) { try adoption.apply(schema) }
    #expect(error?.description.contains("The trigger places on cards sets the id") == true)
    #expect(error?.description.contains("fills") == false)
    try sql.run("DROP TRIGGER places ON cards")
    try adoption.apply(schema)
  }

  @Test("an edit that a trigger puts elsewhere is refused, alone, in adopted tables (I2, I10, I12)")
  func adopted() throws {
    let url = try TemporaryPostgres.shared.makeDatabase()
    let sql = try SQLWriter(url: url)
    try sql.run(Self.team)
    let server = try TestServer(adopting: url)
    try sql.run(
      (Self.trigger("cards", "board_id") + Self.trigger("marks", "card_id")).replacing(
        "substr(NEW.title, 4)", with: "substr(NEW.title, 4)::uuid"))
    try server.reopen()
    let (alice, bob) = (try server.signUp("alice"), try server.signUp("bob"))
    let (own, other, foreign) = (alice.newID(), alice.newID(), bob.newID())
    try alice.sync([.create("boards", own, ["title": "own"]), .create("boards", other, ["title": "other"])])
    try bob.sync([.create("boards", foreign, ["title": "foreign"])])
    let (card, mark) = (alice.newID(), alice.newID())
    try alice.sync([
      .create("cards", card, ["board_id": .string(own), "title": "card"]),
      .create("marks", mark, ["card_id": .string(card), "title": "mark"]),
    ])
    let second = alice.newID()
    try alice.sync([.create("cards", second, ["board_id": .string(other), "title": "second"])])
    func sent(_ title: String) -> [Sent] {
      [
        .create("cards", alice.newID(), ["board_id": .string(own), "title": .string(title)]),
        .update("cards", card, ["title": .string(title)]),
        .create("marks", alice.newID(), ["card_id": .string(card), "title": .string(title)]),
      ]
    }
    for title in ["to \(foreign)", "to \(other)", "id"] {
      for edit in sent(title).prefix(2) {
        let next = alice.newID()
        let answer = try alice.sync([edit], [.create("boards", next, ["title": "next"])])
        #expect(answer.refused.last?.last == answer.confirmed - 1, "\(title)")
        #expect(alice.has("boards", next))
      }
    }
    for title in ["to \(second)", "id"] {
      #expect(try alice.refused(sent(title)[2]).detail.contains("table marks"))
      #expect(
        try alice.refused(.update("marks", mark, ["title": .string(title)])).detail.contains("table marks"))
    }
    // A move that the device has asked for, and what the trigger does besides.
    #expect(
      try alice.sync([.update("cards", card, ["board_id": .string(other), "title": "moved"])]).refused.isEmpty
    )
    try alice.pull()
    #expect(alice.records["cards \(card)"]?.zone == other && alice.column("cards", card, "title") == "MOVED")
    #expect(alice.records["marks \(mark)"]?.zone == other)
    #expect(try Administration(server.location).doctor().allSatisfy { $0.kind == .trigger })
  }

  @Test(
    "an edit that a trigger puts elsewhere is refused in tables that Holdfast made, too (I2, I10)",
    arguments: ["list_id", "zone"])
  func made(column: String) throws {
    let server = try TestServer(engine: .postgres)
    try SQLWriter(server).run(Self.trigger("items", column))
    try server.reopen()
    let alice = try server.signUp("alice")
    let (list, other) = (try alice.makeList(), try alice.makeList())
    let item = try alice.makeItem(list)
    for title in ["to \(other)", "id"] {
      for edit in [
        Sent.create("items", alice.newID(), ["list_id": .string(list), "title": .string(title)]),
        .update("items", item, ["title": .string(title)]),
      ] {
        #expect(try alice.refused(edit).detail.contains("table items"), "\(title)")
      }
    }
    #expect(try alice.sync([.update("items", item, ["title": "plain"])]).refused.isEmpty)
    try alice.pull()
    #expect(alice.column("items", item, "title") == "PLAIN")
    #expect(try Administration(server.location).doctor().allSatisfy { $0.kind == .trigger })
  }
}
