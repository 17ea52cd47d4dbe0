package import HoldfastCore

/// Parses a body. Errors become the problems of PROTOCOL.md, section 10.
package func readJSON(_ body: [UInt8], _ read: (inout JSONReader) throws -> Void) throws(Problem) {
  do { try JSONReader.read(body, read) } catch let problem as Problem { throw problem } catch let error
    as JSONError
  {
    throw Problem(error.isOfValue ? .invalidRequest : .malformedJSON, error.description)
  } catch { throw Problem(.invalidRequest) }
}

/// Parses a body that is an object with one optional text member.
///
/// - Throws: `Problem`: `malformedJSON`, or `invalidRequest` for any other member.
package func readText(_ name: String, of body: [UInt8]) throws(Problem) -> String? {
  var text: String?
  try readJSON(body) { reader in
    try reader.readObject { key, reader in
      guard key.matches(name) else {
        throw Problem(.invalidRequest, "Unknown member \"\(key.string.prefix(64))\".")
      }
      text = try reader.readString()
    }
  }
  return text
}
