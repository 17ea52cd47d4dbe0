extension HTTPRequest {
  /// The values of the first parameter `name` of the query that stand between commas, percent-decoded after they were parted: `%2C` is a comma
  /// in a value. nil if there is no such parameter, or an escape in it is wrong.
  public func queryList(_ name: String) -> [String]? {
    for item in query.utf8.split(separator: UInt8(ascii: "&")) {
      let equals = item.firstIndex(of: UInt8(ascii: "=")) ?? item.endIndex
      guard percentDecoded(item[..<equals], plusIsSpace: true) == name else { continue }
      var values: [String] = []
      for part in item[equals...].dropFirst()
        .split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
      {
        guard let value = percentDecoded(part, plusIsSpace: true) else { return nil }
        values.append(value)
      }
      return values
    }
    return nil
  }
}
