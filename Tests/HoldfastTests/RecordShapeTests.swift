import Foundation
import Testing

@testable import Holdfast

@Suite("Records that encode and decode themselves")
struct RecordShapeTests {
  private let fixture: Fixture

  init() throws {
    fixture = try Fixture(
      schema: SyncSchema(
        name: "shapes",
        tables: [
          TableSchema("text_samples", zone: .user, columns: [ColumnSchema("value", .text)]),
          TableSchema("json_samples", zone: .user, columns: [ColumnSchema("value", .json)]),
        ]))
  }

  private struct Shapeless: Record {
    static let table = "text_samples"
    enum Form: String, Codable {
      case single, unkeyed, nested, nestedUnkeyed, `super`, superKey, unknown, twice
    }
    enum Key: String, CodingKey { case id, value, other }
    var id: String
    var form: Form
    init(_ id: String, _ form: Form) { (self.id, self.form) = (id, form) }
    init(from decoder: any Decoder) throws { (id, form) = ("", .single) }

    func encode(to encoder: any Encoder) throws {
      if form == .single {
        var container = encoder.singleValueContainer()
        return try container.encode(id)
      }
      if form == .unkeyed {
        var container = encoder.unkeyedContainer()
        try container.encode(id)
        return try container.encodeNil()
      }
      var container = encoder.container(keyedBy: Key.self)
      try container.encode(id, forKey: .id)
      switch form {
      case .nested:
        var inner = container.nestedContainer(keyedBy: Key.self, forKey: .value)
        try inner.encode(1, forKey: .other)
        try inner.encodeIfPresent(Int?.none, forKey: .id)
        _ = inner.nestedUnkeyedContainer(forKey: .value)
      case .nestedUnkeyed:
        var inner = container.nestedUnkeyedContainer(forKey: .value)
        try inner.encode(id)
        _ = inner.nestedContainer(keyedBy: Key.self)
      case .super: try id.encode(to: container.superEncoder())
      case .superKey: try id.encode(to: container.superEncoder(forKey: .value))
      case .unknown: try container.encodeNil(forKey: .other)
      case .twice:
        try container.encode("first", forKey: .value)
        try container.encode("last", forKey: .value)
      case .single, .unkeyed: break
      }
    }
  }

  private struct Nowhere: Record {
    static let table = "none"
    var id: String
  }

  @Test("records that are no set of columns throw; of two values of one column the last one counts")
  func shapeless() async throws {
    for (form, place) in [
      (.single, "text_samples: "), (.unkeyed, "text_samples: "), (.nested, "text_samples.value: "),
      (.nestedUnkeyed, "text_samples.value: "), (.super, "text_samples.super: "),
      (.superKey, "text_samples.value: "),
      (.unknown, "text_samples.other: "),
    ] as [(Shapeless.Form, String)] {
      let error = await #expect(throws: StoreError.self) {
        try await fixture.store.write { try $0.insert(Shapeless($0.newID(), form)) }
      }
      #expect(error?.code == .valueUnfit && error?.description.hasPrefix(place) == true, "\(form)")
    }
    try await fixture.store.write { try $0.insert(Shapeless($0.newID(), .twice)) }
    #expect(try await fixture.value("SELECT group_concat(value) FROM text_samples") == "last")
    let error = await #expect(throws: StoreError.self) {
      try await fixture.store.write { try $0.insert(Nowhere(id: $0.newID())) }
    }
    #expect(error?.code == .valueUnfit)
  }

  private struct Settings: Record {
    static let table = "json_samples"
    enum Key: String, CodingKey { case id, value, `super` }
    var id: String
    var theme = ""
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Key.self)
      id = try container.decode(String.self, forKey: .id)
      theme = try container.nestedContainer(keyedBy: Key.self, forKey: .value).decode(
        String.self, forKey: .id)
      var elements = try container.nestedUnkeyedContainer(forKey: .super)
      theme += try elements.decode(String.self)
      let same = try container.superDecoder().unkeyedContainer().count
      theme += try "\(same ?? 0)\(container.superDecoder(forKey: .super).unkeyedContainer().count ?? 0)"
    }
    func encode(to encoder: any Encoder) throws {}
  }

  @Test("containers inside a column are read from its JSON")
  func containers() async throws {
    let sql = #"SELECT '1' AS id, '{"id":"dark"}' AS value, '["!", 2]' AS super"#
    let found = try await fixture.store.read { try $0.fetch(Settings.self, sql) }
    #expect(found.map(\.theme) == ["dark!22"])
  }
}
