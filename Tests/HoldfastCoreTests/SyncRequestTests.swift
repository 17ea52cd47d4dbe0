import Testing

@testable import HoldfastCore

@Suite("Sync requests")
struct SyncRequestTests {
  private let id = "0193aaaa-0000-7000-8000-000000000001"

  private func schema() throws -> SyncSchema {
    try SyncSchema(
      name: "app",
      tables: [
        TableSchema(
          "lists", zone: .root,
          columns: [
            ColumnSchema("title", .text, required: true, maximumLength: 5), ColumnSchema("n", .integer),
            ColumnSchema("price", .real),
            ColumnSchema("done", .boolean, required: true, default: .integer(0)),
            ColumnSchema("extra", .json),
            ColumnSchema("at", .timestamp),
          ])
      ])
  }

  private func read(_ text: String) throws -> SyncRequest {
    try SyncRequest(body: Array(text.utf8), operations: OperationReader(schema: try schema()))
  }

  private func refusal(_ operation: String) throws -> ProblemCode? {
    let request = try read(#"{"protocol": 1, "change_sets": [[\#(operation)]]}"#)
    if case .failure(let refused) = try #require(request.changeSets.first).content {
      return refused.problem.code
    }
    return nil
  }

  @Test("what a device writes is what the server reads, values exact")
  func roundTrip() throws {
    let schema = try schema()
    let values: [Value] = [
      .text("é\u{1F600}\""), .integer(.max), .real(0.1 + 0.2), .integer(1), .text(#"{"a":[1,null]}"#), .null,
    ]
    var writer = OperationWriter()
    writer.write(
      .create, table: schema.tables[0], id: id, rev: 0, stamp: Stamp(milliseconds: 5),
      settings: values.enumerated().map { .init(column: $0.offset, value: $0.element) })
    writer.write(
      .update, table: schema.tables[0], id: id, rev: 3, stamp: Stamp(milliseconds: 6),
      settings: [
        .init(column: 0, value: .text("new"), base: .text("old")),
        .init(column: 3, value: .integer(0), base: .integer(1)),
      ])
    writer.write(
      .delete, table: schema.tables[0], id: id, rev: 4, stamp: Stamp(milliseconds: 7), settings: [])
    let bytes = writer.finish()
    var request = SyncRequest()
    request.first = 7
    request.acks = [.init(zone: "z", token: "t"), .init(zone: "y", token: nil)]
    request.carried = [CarriedChangeSet(first: 7, origin: "52a07c1e9b3d4f68")]
    let read = try read(String(decoding: request.body(sealed: [bytes]), as: UTF8.self))
    #expect(read.first == 7 && read.acks == request.acks && read.carried == request.carried)
    #expect(read.origin(ofSetAt: 7) == "52a07c1e9b3d4f68" && read.origin(ofSetAt: 8) == nil)
    let set = try #require(read.changeSets.first)
    #expect(set.count == 3)
    #expect(set.range.count == bytes.count)
    let operations = try set.content.get()
    #expect(operations[0].settings.map(\.value) == values)
    #expect(operations[1].rev == 3 && operations[1].settings.first?.base == .text("old"))
    #expect(operations[1].settings.last?.value == .integer(0))
    #expect(operations[2].kind == .delete && operations[2].stamp == Stamp(milliseconds: 7))
  }

  @Test(
    "a wrong operation refuses its change set by a code of its own, and no other (I12)",
    arguments: [
      (#"{"op":"create","table":"nope","id":"ID","at":"AT","columns":{}}"#, ProblemCode.unknownTable),
      (#"{"op":"create","table":"conflicts","id":"ID","at":"AT","columns":{}}"#, .readOnlyTable),
      (#"{"op":"create","table":"lists","id":"ID","at":"AT","columns":{"title":"a","x":1}}"#, .unknownColumn),
      (#"{"op":"create","table":"lists","id":"ID","at":"AT","columns":{"title":5}}"#, .invalidValue),
      (
        #"{"op":"create","table":"lists","id":"ID","at":"AT","columns":{"title":"a","n":1.5}}"#, .invalidValue
      ),
      (
        #"{"op":"create","table":"lists","id":"ID","at":"AT","columns":{"title":"a","at":"yesterday"}}"#,
        .invalidValue
      ),
      (#"{"op":"create","table":"lists","id":"ID","at":"AT","columns":{"title":"abcdef"}}"#, .valueTooLong),
      (#"{"op":"create","table":"lists","id":"ID","at":"AT","columns":{}}"#, .valueMissing),
      (#"{"op":"update","table":"lists","id":"ID","at":"AT","columns":{"title":null}}"#, .valueMissing),
      (#"{"op":"create","table":"lists","id":"1","at":"AT","columns":{"title":"a"}}"#, .invalidID),
      (#"{"op":"create","table":"lists","id":"ID","at":"now","columns":{"title":"a"}}"#, .invalidOperation),
      (#"{"op":"merge","table":"lists","id":"ID","at":"AT"}"#, .invalidOperation),
      (#"{"op":"delete","table":"lists","id":"ID","at":"AT","columns":{}}"#, .invalidOperation),
      (#"{"op":"delete","table":"lists","id":"ID","at":"AT","rev":-1}"#, .invalidOperation),
      (#"{"op":"delete","table":7,"id":"ID","at":"AT"}"#, .invalidOperation),
      ("17", .invalidOperation),
    ])
  func refusals(operation: String, code: ProblemCode) throws {
    let text = operation.split(separator: "ID", omittingEmptySubsequences: false).joined(separator: id)
      .split(separator: "AT", omittingEmptySubsequences: false).joined(separator: "0000000000000001")
    #expect(try refusal(text) == code)
  }

  @Test(
    "a wrong request is refused whole",
    arguments: [
      ("", ProblemCode.malformedJSON), ("{", .malformedJSON), ("[]", .invalidRequest),
      ("{}", .invalidRequest),
      (#"{"protocol": 2}"#, .protocolUnsupported), (#"{"protocol": 1, "protocol": 1}"#, .malformedJSON),
      (#"{"protocol": 1, "first": 0}"#, .invalidRequest),
      (#"{"protocol": 1, "chain": "x"}"#, .invalidRequest),
      (#"{"protocol": 1, "change_sets": [[]]}"#, .invalidRequest),
      (#"{"protocol": 1, "change_sets": [{}]}"#, .invalidRequest),
      (#"{"protocol": 1, "acks": {"z": 5}}"#, .invalidRequest),
      (#"{"protocol": 1, "what": 5}"#, .invalidRequest),
    ])
  func wrongRequests(text: String, code: ProblemCode) throws {
    let problem = #expect(throws: Problem.self) { try read(text) }
    #expect(problem?.code == code)
  }

  @Test("a problem document says type, code, status and what to do")
  func document() throws {
    let problem = Problem(.busy, "The queue is full.", retryAfter: 3)
    let value = try JSONValue(parsing: problem.document)
    #expect(value["type"] == "urn:holdfast:problem:busy")
    #expect(value["status"] == 503)
    #expect(value["remedy"]?.stringValue?.isEmpty == false)
    #expect(Problem(document: problem.document) == problem)
  }

  @Test("every code has a status, a title and advice of its own")
  func codes() {
    #expect(TextSet(ProblemCode.allCases.map(\.title)).count == ProblemCode.allCases.count)
    for code in ProblemCode.allCases {
      #expect((400...599).contains(code.status))
      #expect(!code.remedy.isEmpty)
    }
  }

  @Test("a number beyond the doubles is a wrong value of one operation, not a broken request (I12)")
  func hugeNumber() throws {
    func create(_ columns: String) -> String {
      #"{"op":"create","table":"lists","id":"\#(id)","at":"0000000000000001","columns":{"title":"x",\#(columns)}}"#
    }
    #expect(try refusal(create(#""price":1e999"#)) == .invalidValue)
    #expect(try refusal(create(#""n":-1e999"#)) == .invalidValue)
    #expect(try refusal(create(#""price":1e308"#)) == nil)
    #expect(
      try refusal(
        #"{"op":"update","table":"lists","id":"\#(id)","rev":1,"at":"0000000000000001","columns":{"title":"x"},"base":{"price":1e999}}"#
      ) == .invalidValue)
  }

  @Test("JSON nests as deep as an answer can carry it back (I12)")
  func deepValue() throws {
    func refusal(depth: Int) throws -> ProblemCode? {
      let nested = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
      return try self.refusal(
        #"{"op":"create","table":"lists","id":"\#(id)","at":"0000000000000001","columns":{"title":"x","extra":\#(nested)}}"#
      )
    }
    #expect(try refusal(depth: 32) == nil)
    #expect(try refusal(depth: 33) == .invalidValue)
  }

  @Test("what a problem quotes of a request is short (I11)")
  func shortDetail() throws {
    let name = String(repeating: "e\u{301}", count: 100_000)
    let request = try read(#"{"protocol":1,"change_sets":[[{"op":"create","table":"\#(name)"}]]}"#)
    guard case .failure(let refused) = try #require(request.changeSets.first).content else {
      Issue.record("It was not refused.")
      return
    }
    #expect(refused.problem.code == .unknownTable)
    #expect(refused.problem.detail.utf8.count <= 1024)
  }
}
