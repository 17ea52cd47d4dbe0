import HoldfastCore

extension ColumnSchema {
  /// What the comment of the column's property says.
  var note: String {
    var parts = [kindNote]
    switch policy {
    case .latest: break
    case .server: parts.append("Of concurrent edits the first to arrive holds.")
    case .client: parts.append("Of concurrent edits the last to arrive holds.")
    case .counter: parts.append("Concurrent increments are added up.")
    case .set: parts.append("Concurrent additions and removals all count.")
    case .text: parts.append("Concurrent edits are merged word by word.")
    case .ask: parts.append("A person chooses between concurrent edits.")
    case .resolver: parts.append("The server's resolver merges concurrent edits.")
    }
    return parts.joined(separator: " ")
  }

  private var kindNote: String {
    switch type {
    case .text:
      oneOf.isEmpty ? "A text of at most \(lengthLimit) characters." : "One of \(oneOf.count) values."
    case .integer:
      switch (minimum, maximum) {
      case (let minimum?, let maximum?): "An integer from \(minimum) to \(maximum)."
      case (let minimum?, nil): "An integer from \(minimum) on."
      case (nil, let maximum?): "An integer up to \(maximum)."
      case (nil, nil): "An integer."
      }
    case .real: "A number."
    case .boolean: "True or false."
    case .timestamp: "A time, to the millisecond."
    case .json: policy == .set ? "A set of texts." : "The text of a JSON value."
    case .reference: referenceNote
    case .position: "The place in the list, whose order is that of these texts."
    }
  }

  private var referenceNote: String {
    guard let reference else { return "The id of a record." }
    let id = "The id of a record of `\(reference.table)`"
    switch reference.onDelete {
    case .cascade: return id + ", with which this record is deleted."
    case .setNull: return id + "; null after that is deleted."
    case .restrict, nil: return id + ", which can't be deleted while this record is there."
    }
  }
}
