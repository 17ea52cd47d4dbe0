/// Two parts of a schema have one name in the source text.
package struct RecordSourceError: Error, CustomStringConvertible {
  package let description: String

  /// Refuses a name that stands twice.
  ///
  /// - Parameter owners: what each name is of, for a person.
  static func requireDistinct(_ names: [String], of owners: [String]) throws(RecordSourceError) {
    for (index, name) in names.enumerated() {
      guard let first = names.firstIndex(where: { $0 == name }), first < index else { continue }
      throw RecordSourceError(
        description: "\(owners[first]) and \(owners[index]) would both be called \(name). Rename one of them."
      )
    }
  }
}
