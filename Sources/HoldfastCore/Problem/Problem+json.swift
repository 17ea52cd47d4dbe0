extension Problem {
  /// The problem document (RFC 9457). Its `type` is a URN with the code.
  package var document: [UInt8] {
    var writer = JSONWriter(capacity: 256)
    write(to: &writer)
    return writer.bytes
  }

  /// Writes the problem document as the next value.
  ///
  /// - Parameters:
  ///   - writer: gets the document.
  ///   - members: writes further members.
  package func write(to writer: inout JSONWriter, members: (inout JSONWriter) -> Void = { _ in }) {
    writer.beginObject()
    writer.key("type")
    writer.string("urn:holdfast:problem:\(code.rawValue)")
    writer.key("code")
    writer.string(code.rawValue)
    writer.key("title")
    writer.string(code.title)
    writer.key("status")
    writer.int64(Int64(code.status))
    if !detail.isEmpty {
      writer.key("detail")
      writer.string(detail)
    }
    writer.key("remedy")
    writer.string(code.remedy)
    if let retryAfter {
      writer.key("retry_after")
      writer.int64(Int64(retryAfter))
    }
    taken?.write(to: &writer)
    if let url {
      writer.key("url")
      writer.string(url)
    }
    if let database {
      writer.key("database")
      writer.string(database)
    }
    if let zone {
      writer.key("zone")
      writer.string(zone)
    }
    members(&writer)
    writer.endObject()
  }

  /// Parses a problem document; nil if the bytes are none, or its code is unknown.
  package init?(document bytes: [UInt8]) {
    guard let value = try? JSONValue(parsing: bytes),
      let code = value["code"]?.stringValue.flatMap(ProblemCode.init)
    else { return nil }
    self.init(
      code, value["detail"]?.stringValue ?? "",
      retryAfter: value["retry_after"]?.integerValue.flatMap { Int(exactly: $0) })
    if code == .uniqueTaken { taken = TakenValue(value) }
    url = value["url"]?.stringValue
    (database, zone) = (value["database"]?.stringValue, value["zone"]?.stringValue)
  }
}
