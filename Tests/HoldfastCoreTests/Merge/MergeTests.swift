import Testing

@testable import HoldfastCore

@Suite("Merging one column")
struct MergeTests {
  private let last = ColumnStamp(rev: 5, stamp: Stamp(milliseconds: 1000), device: 1)

  private func edit(
    _ value: String, base: String? = nil, rev: Int64, at milliseconds: Int64, device: Int64 = 2
  ) -> ColumnEdit {
    ColumnEdit(
      value: .text(value), base: base.map { .text($0) }, rev: rev, stamp: Stamp(milliseconds: milliseconds),
      device: device)
  }

  private func decide(_ edit: ColumnEdit, _ policy: MergePolicy = .latest) -> ColumnMerge {
    .decide(current: .text("theirs"), last: last, edit: edit, policy: policy)
  }

  @Test("an edit that knew of the last change is applied, however old its clock says it is")
  func known() { #expect(decide(edit("mine", rev: 5, at: 1)) == .applied) }

  @Test("the later of two edits that did not know of each other wins (I7)")
  func latest() {
    #expect(decide(edit("mine", rev: 4, at: 2000)) == .won)
    #expect(decide(edit("mine", rev: 4, at: 500)) == .lost)
  }

  @Test("at the same moment the greater device wins, so that the order of arrival decides nothing (I7)")
  func tie() {
    #expect(decide(edit("mine", rev: 4, at: 1000, device: 2)) == .won)
    #expect(decide(edit("mine", rev: 4, at: 1000, device: 0)) == .lost)
  }

  @Test("with the policy server the value that is there stays")
  func server() { #expect(decide(edit("mine", rev: 4, at: 2000), .server) == .lost) }

  @Test("the device's own earlier edit is no conflict, but a later one by its token is (I3)")
  func own() {
    #expect(decide(edit("mine", rev: 1, at: 1000, device: 1)) == .applied)
    #expect(decide(edit("mine", rev: 1, at: 1, device: 1)) == .lost)
  }

  @Test("a value that the device has recovered may be another's, and gives way to an edit as one (I3)")
  func recovered() {
    let recovered = ColumnStamp(rev: 5, stamp: .zero, device: 1)
    let edit = edit("mine", base: "older", rev: 1, at: 1, device: 1)
    #expect(
      ColumnMerge.decide(current: .text("theirs"), last: recovered, edit: edit, policy: .latest) == .won)
  }

  @Test("what came by the same token is one, where people share it (I3)")
  func shared() {
    let edit = ColumnEdit(
      value: .text("mine"), base: .text("older"), rev: 9, stamp: Stamp(milliseconds: 1), device: 1,
      isSequential: false)
    #expect(decide(edit) == .lost)
  }

  @Test("a value that went and came back is no conflict; nor are equal values")
  func equalValues() {
    #expect(decide(edit("mine", base: "theirs", rev: 1, at: 1)) == .applied)
    #expect(decide(edit("theirs", rev: 1, at: 1)) == .unchanged)
  }

  @Test("column stamps are read as they were written, and fall back to the creation")
  func stamps() throws {
    var stamps = RecordStamps(creation: ColumnStamp(rev: 1, stamp: Stamp(milliseconds: 7), device: 3))
    stamps["title"] = last
    let read = try #require(RecordStamps(stamps.text))
    #expect(read == stamps)
    #expect(read["title"] == last)
    #expect(read["note"].rev == 1)
    let good = "1.0000000000000000.1"
    let wrong = [
      "", "1", "1.2.3", "x;y", "\(good);title", "\(good).1", "\(good);title=1.2", ".0000000000000000.1",
      "\(good);", "1.0000000000000000.", "1.000000000000000.1", "9223372036854775808.0000000000000000.1",
    ]
    for text in wrong { #expect(RecordStamps(text) == nil) }
  }

  @Test("stamps are those of one device alone until another changes a column, or the same one later")
  func authors() {
    var stamps = RecordStamps(creation: ColumnStamp(rev: 1, stamp: Stamp(milliseconds: 7), device: 3))
    stamps["title"] = ColumnStamp(rev: 2, stamp: Stamp(milliseconds: 8), device: 3)
    let (last, before) = (Stamp(milliseconds: 8), Stamp(milliseconds: 7))
    #expect(stamps.isOnly(of: 3, upTo: last) && !stamps.isOnly(of: 4, upTo: last))
    #expect(!stamps.isOnly(of: 3, upTo: before))
    stamps["note"] = ColumnStamp(rev: 3, stamp: Stamp(milliseconds: 9), device: 4)
    #expect(![3, 4].contains { stamps.isOnly(of: $0, upTo: Stamp(milliseconds: 9)) })
  }
}
