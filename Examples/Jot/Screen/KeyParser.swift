/// Finds the keys in the bytes of a terminal, which arrive in any pieces.
///
/// Sources: ECMA-48, section 5.4; XTerm Control Sequences, "PC-Style Function Keys" and "Bracketed Paste Mode"; RFC 3629.
struct KeyParser: Sendable {
  /// So many bytes of one paste count; nobody pastes a longer title.
  static let longestPaste = 1 << 20
  private static let escape: UInt8 = 0x1B
  private static let pasteEnd = Array("\u{1B}[201~".utf8)

  private var bytes: [UInt8] = []
  private var pasted: [UInt8]?

  /// Whether an Escape is here that may begin the sequence of another key.
  var isInEscape: Bool { pasted == nil && bytes.first == Self.escape }

  /// Takes bytes, and gives the keys that are whole.
  mutating func take(_ more: [UInt8]) -> [Key] {
    bytes += more
    var keys: [Key] = []
    var start = 0
    loop: while start < bytes.count {
      switch pasted == nil ? next(at: start) : nextOfPaste(at: start) {
      case .whole(let key, let length):
        if let key { keys.append(key) }
        start += length
      case .partial: break loop
      }
    }
    bytes.removeFirst(start)
    return keys
  }

  /// Ends the wait for the rest of a sequence: an Escape by itself is the key.
  mutating func endEscape() -> [Key] {
    guard isInEscape else { return [] }
    let isAlone = bytes.count == 1
    bytes = []
    return isAlone ? [.escape] : []
  }

  private enum Found {
    /// A key, or a sequence that stands for none.
    case whole(Key?, length: Int)
    /// The rest has not arrived.
    case partial
  }

  private mutating func next(at start: Int) -> Found {
    switch bytes[start] {
    case Self.escape: escapeSequence(at: start)
    case 0x0D, 0x0A: .whole(.enter, length: 1)
    case 0x09: .whole(.tab, length: 1)
    case 0x7F, 0x08: .whole(.backspace, length: 1)
    case 0x00: .whole(nil, length: 1)
    case 0x01..<0x20: .whole(.control(Unicode.Scalar(bytes[start] | 0x60)), length: 1)
    default: scalar(at: start)
    }
  }

  private func scalar(at start: Int) -> Found {
    let length =
      switch bytes[start] {
      case 0x00..<0x80: 1
      case 0xC2..<0xE0: 2
      case 0xE0..<0xF0: 3
      case 0xF0..<0xF5: 4
      default: 0
      }
    // The bytes that belong to it, as far as they are here.
    let there = bytes[start...].dropFirst().prefix(max(0, length - 1)).prefix { $0 & 0xC0 == 0x80 }
    let isWhole = there.count + 1 >= length
    if !isWhole, start + 1 + there.count == bytes.count { return .partial }
    var decoder = UTF8()
    var iterator = bytes[start..<(start + 1 + there.count)].makeIterator()
    if isWhole, case .scalarValue(let scalar) = decoder.decode(&iterator) {
      return .whole((0x7F..<0xA0).contains(scalar.value) ? nil : .scalar(scalar), length: length)
    }
    return .whole(.scalar("\u{FFFD}"), length: 1 + there.count)
  }

  private mutating func escapeSequence(at start: Int) -> Found {
    guard start + 1 < bytes.count else { return .partial }
    switch bytes[start + 1] {
    case UInt8(ascii: "["): return controlSequence(at: start)
    case UInt8(ascii: "O"):
      guard start + 2 < bytes.count else { return .partial }
      return .whole(Self.named(bytes[start + 2], shift: false), length: 3)
    // Escape, and another key after it.
    default: return .whole(.escape, length: 1)
    }
  }

  private mutating func controlSequence(at start: Int) -> Found {
    let rest = bytes[(start + 2)...]
    // The console of Linux writes one more "[" before the letter of a function key.
    if rest.first == UInt8(ascii: "[") { return rest.count > 1 ? .whole(nil, length: 4) : .partial }
    guard let end = rest.firstIndex(where: { !(0x20..<0x40).contains($0) }) else { return .partial }
    let length = end - start + 1
    // A byte that no sequence has ends it.
    guard (0x40..<0x7F).contains(bytes[end]) else { return .whole(nil, length: length - 1) }
    let parameters = String(decoding: rest[..<end], as: UTF8.self).split(
      separator: ";", omittingEmptySubsequences: false)
    let hasShift = parameters.count > 1 && parameters[1] == "2"
    guard bytes[end] == UInt8(ascii: "~") else {
      return .whole(Self.named(bytes[end], shift: hasShift), length: length)
    }
    if parameters.first == "200" { pasted = [] }
    return .whole(Self.numbered(parameters.first ?? ""), length: length)
  }

  private static func named(_ letter: UInt8, shift: Bool) -> Key? {
    switch Unicode.Scalar(letter) {
    case "A": shift ? .shiftUp : .up
    case "B": shift ? .shiftDown : .down
    case "C": .right
    case "D": .left
    case "H": .home
    case "F": .end
    case "M": .enter
    case "Z": .shiftTab
    default: nil
    }
  }

  private static func numbered(_ number: Substring) -> Key? {
    switch number {
    case "1", "7": .home
    case "4", "8": .end
    case "3": .delete
    case "5": .pageUp
    case "6": .pageDown
    default: nil
    }
  }

  private mutating func nextOfPaste(at start: Int) -> Found {
    let rest = bytes[start...]
    if let end = rest.firstRange(of: Self.pasteEnd) {
      let text = (pasted ?? []) + rest[..<end.lowerBound]
      pasted = nil
      return .whole(
        .paste(String(decoding: text.prefix(Self.longestPaste), as: UTF8.self)),
        length: end.upperBound - start)
    }
    // The end may be here in part.
    let length = rest.count - (Self.pasteEnd.count - 1)
    guard length > 0 else { return .partial }
    if (pasted?.count ?? 0) < Self.longestPaste { pasted?.append(contentsOf: rest.prefix(length)) }
    return .whole(nil, length: length)
  }
}
