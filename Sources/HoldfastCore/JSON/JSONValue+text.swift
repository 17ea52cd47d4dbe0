extension JSONValue {
  /// Parses a JSON text strictly: duplicate keys, byte order marks and lone surrogates are errors; see ``JSONError``.
  ///
  /// - Throws: ``JSONError`` if the text is invalid.
  public init(parsing bytes: [UInt8], maximumDepth: Int = 64) throws {
    self = try JSONReader.read(bytes, maximumDepth: maximumDepth) { try JSONValue(from: &$0) }
  }

  /// Parses a JSON text strictly: duplicate keys, byte order marks and lone surrogates are errors; see ``JSONError``.
  ///
  /// - Throws: ``JSONError`` if the text is invalid.
  public init(parsing text: String, maximumDepth: Int = 64) throws {
    self = try JSONReader.read(text, maximumDepth: maximumDepth) { try JSONValue(from: &$0) }
  }

  /// Whether a JSON text is null, with or without white space around it.
  package static func isNull(utf8 text: some Collection<UInt8>) -> Bool {
    let isSpace = { (byte: UInt8) in [0x20, 0x09, 0x0A, 0x0D].contains(byte) }
    let value = text.drop(while: isSpace)
    return value.starts(with: "null".utf8) && value.dropFirst(4).allSatisfy(isSpace)
  }

  /// Reads the next value of a reader.
  ///
  /// - Throws: ``JSONError`` if the value is invalid.
  package init(from reader: inout JSONReader) throws {
    switch try reader.peekKind() {
    case .null:
      try reader.readNull()
      self = .null
    case .bool:
      self = .bool(try reader.readBool())
    case .number:
      switch try reader.readNumber() {
      case .integer(let value): self = .integer(value)
      case .real(let value): self = .real(value)
      }
    case .string:
      self = .string(try reader.readString())
    case .array:
      var elements: [JSONValue] = []
      try reader.readArray { elements.append(try JSONValue(from: &$0)) }
      self = .array(elements)
    case .object:
      var members: [Member] = []
      try reader.readObject { members.append(Member($0.string, try JSONValue(from: &$1))) }
      self = .object(members)
    }
  }

  /// Writes the value. An infinite real, or one that is not a number, is written as null.
  package func write(to writer: inout JSONWriter) {
    switch self {
    case .null: writer.null()
    case .bool(let value): writer.bool(value)
    case .integer(let value): writer.int64(value)
    case .real(let value): writer.doubleOrNull(value)
    case .string(let value): writer.string(value)
    case .array(let elements):
      writer.beginArray()
      for element in elements { element.write(to: &writer) }
      writer.endArray()
    case .object(let members):
      writer.beginObject()
      for member in members {
        writer.key(named: member.name)
        member.value.write(to: &writer)
      }
      writer.endObject()
    }
  }

  /// The value as compact JSON in UTF-8.
  public var bytes: [UInt8] {
    var writer = JSONWriter()
    write(to: &writer)
    return writer.bytes
  }

  /// The value as indented JSON for people: one member or element per line, indented by two spaces.
  ///
  /// Characters that a terminal does not show are escaped, which does not change the value.
  public func formatted() -> String {
    let text = formatted(indent: "")
    let isUnshown = { (scalar: Unicode.Scalar) in scalar != "\n" && scalar.isUnshown }
    guard text.unicodeScalars.contains(where: isUnshown) else { return text }
    return text.unicodeScalars.reduce(into: "") { shown, scalar in
      if isUnshown(scalar) {
        let digits = String(scalar.value, radix: 16)
        shown += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      } else {
        shown.unicodeScalars.append(scalar)
      }
    }
  }

  private func formatted(indent: String) -> String {
    let inner = indent + "  "
    switch self {
    case .array(let elements) where !elements.isEmpty:
      let lines = elements.map { inner + $0.formatted(indent: inner) }
      return "[\n" + lines.joined(separator: ",\n") + "\n" + indent + "]"
    case .object(let members) where !members.isEmpty:
      let lines = members.map { member in
        let name = String(decoding: JSONValue.string(member.name).bytes, as: UTF8.self)
        return "\(inner)\(name): \(member.value.formatted(indent: inner))"
      }
      return "{\n" + lines.joined(separator: ",\n") + "\n" + indent + "}"
    default:
      return String(decoding: bytes, as: UTF8.self)
    }
  }
}
