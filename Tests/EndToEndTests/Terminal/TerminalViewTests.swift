import Foundation
import Holdfast
import Testing

@testable import Jot

@Suite("The screen of Jot, drawn without a terminal")
struct TerminalViewTests {
  private static func model(items count: Int, title: String = "item", columns: Int = 80, rows: Int = 24)
    throws
    -> ScreenModel
  {
    var model = ScreenModel(columns: columns, rows: rows, hasServer: false)
    let list = #"[{"id":"l","title":"Home","items":1,"done":0,"members":1}]"#
    model.show(lists: try JSONDecoder().decode([ListLine].self, from: Data(list.utf8)))
    model.show(items: items(0..<count, title), of: "l")
    model.pane = .items
    model.scroll()
    return model
  }

  private static func items(_ numbers: some Sequence<Int>, _ title: String = "item") -> [Readable<Item>] {
    numbers.map { .record(Item(id: "\($0)", listID: "l", title: "\(title) \($0)", position: "\($0)")) }
  }

  @Test("no line is wider than the terminal, whatever the size, the mode and the titles")
  func sizes() throws {
    let title = "牛奶 e\u{301} 👩‍👩‍👧 ❤️ \u{301}\u{200B}\u{1B}[2J"
    for columns in [1, 2, 3, 7, 20, 40, 59, 60, 80, 200] {
      for rows in [1, 2, 3, 4, 12, 24] {
        var model = try Self.model(items: 30, title: title, columns: columns, rows: rows)
        for key: Key in [
          .down, .scalar("e"), .escape, .scalar("n"), .escape, .scalar("d"), .escape, .tab, .scalar("e"),
          .escape, .scalar("?"), .pageDown, .escape, .scalar("c"), .escape, .scalar("Q"),
        ] {
          _ = model.take(key)
          let frame = ScreenView(model: model).frame()
          #expect(frame.lines.count == rows)
          #expect(frame.lines.allSatisfy { $0.width <= columns })
          #expect(frame.lines.allSatisfy { $0.width == $0.cells.width })
          if let cursor = frame.cursor { #expect(cursor.column < columns && cursor.row < rows) }
        }
      }
    }
  }

  @Test("a question has its answers also when the title is too long for the screen")
  func longQuestion() throws {
    var model = try Self.model(items: 3, title: String(repeating: "long ", count: 90), columns: 40, rows: 12)
    _ = model.take(.scalar("d"))
    let bottom = ScreenView(model: model).frame().lines.suffix(2).map { $0.cells.map(\.text).joined() }
    #expect(bottom.first?.hasPrefix("Remove long long") == true && bottom.last?.hasSuffix("… y/n") == true)
  }

  @Test("random keys, sizes and results of queries are drawn")
  func random() throws {
    var random = SeededRandom(seed: 11)
    let named: [Key] = [
      .enter, .escape, .tab, .backspace, .delete, .up, .down, .left, .right, .home, .end, .pageUp, .pageDown,
      .shiftUp, .shiftDown, .paste("a\nb"), .control("w"), .control("u"),
    ]
    var model = try Self.model(items: 10)
    for _ in 0..<3000 {
      switch Int.random(in: 0..<20, using: &random) {
      case 0:
        model.columns = Int.random(in: 1...90, using: &random)
        model.rows = Int.random(in: 1...30, using: &random)
      case 1:
        let count = Int.random(in: 0...40, using: &random)
        model.show(items: Self.items((0..<count).shuffled(using: &random)), of: "l")
      case 2:
        model.take([EditOutcome.written, .added("7"), .met("x")].randomElement(using: &random) ?? .written)
      case 3..<10: _ = model.take(named.randomElement(using: &random) ?? .up)
      default: _ = model.take(.scalar(Unicode.Scalar(UInt8.random(in: 0x20..<0x7F, using: &random))))
      }
      model.scroll()
      let frame = ScreenView(model: model).frame()
      #expect(frame.lines.count == model.rows && frame.lines.allSatisfy { $0.width <= model.columns })
    }
  }

  @Test("the cursor stays on its record when others come, go and move, and is visible")
  func followed() throws {
    var model = try Self.model(items: 100)
    _ = model.take(.pageDown)
    #expect(model.item?.id == "21")
    model.show(items: Self.items([99, 98] + Array(0..<98).reversed()), of: "l")
    model.scroll()
    #expect(model.item?.id == "21")
    #expect(model.itemCursor.index == 78 && (58...78).contains(model.itemCursor.top))
    model.show(items: Self.items(0..<5), of: "l")
    model.scroll()
    #expect(model.item?.id == "4" && model.itemCursor.top == 0)
  }

  @Test("a move among filtered items is relative to the items that are shown")
  func filteredMove() throws {
    var model = try Self.model(items: 30)
    for key: Key in [.scalar("/"), .scalar("2"), .enter, .scalar("g"), .scalar("j")] { _ = model.take(key) }
    #expect(model.visible.map(\.id).prefix(3) == ["2", "12", "20"])
    #expect(model.take(.scalar("K")) == [.edit(.move("12", .before("2")))])
    #expect(model.take(.scalar("K")) == [])
    #expect(model.item?.id == "12")
  }

  @Test("keys after the list has gone are not for the items of another list")
  func listGone() throws {
    var model = try Self.model(items: 3)
    let other = #"[{"id":"m","title":"Work","items":1,"done":0,"members":1}]"#
    model.show(lists: try JSONDecoder().decode([ListLine].self, from: Data(other.utf8)))
    #expect(model.pane == .lists && model.message == "The list Home is not on this device any more.")
    #expect(model.take(.scalar(" ")) == [])
  }

  @Test("a title whose item was removed meanwhile can be added as a new item (I3)")
  func itemGone() throws {
    var model = try Self.model(items: 3)
    for key: Key in [.scalar("e"), .scalar("!"), .enter] { _ = model.take(key) }
    model.take(StoreError(.recordMissing, ""))
    #expect(model.take(.enter) == [.edit(.addItem("item 0!", list: "l"))])
  }

  @Test("tags with spaces and commas stay when another one is added")
  func tags() {
    var typing = Typing(.tags(id: "i", seen: ["a b", "c, d"]))
    _ = typing.field.take(.paste(", e"))
    #expect(typing.edit == .tags("i", adding: ["e"], removing: []))
    for _ in 0..<6 { _ = typing.field.take(.backspace) }
    #expect(typing.edit == .tags("i", adding: [], removing: ["c, d"]))
  }

  @Test(
    "a combining mark that is typed after its letter joins it, and a line that did not change is not sent")
  func renderer() throws {
    var field = TextField()
    for scalar in "e\u{301}x".unicodeScalars { _ = field.take(.scalar(scalar)) }
    #expect(field.text.count == 2)
    var model = try Self.model(items: 20)
    var renderer = Renderer(.output)
    let whole = renderer.draw(ScreenView(model: model).frame())
    #expect(renderer.draw(ScreenView(model: model).frame()).isEmpty)
    _ = model.take(.down)
    let part = renderer.draw(ScreenView(model: model).frame())
    #expect(part.contains("item 1") && !part.contains("item 5") && whole.contains("item 5"))
  }
}
