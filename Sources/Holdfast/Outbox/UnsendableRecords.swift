import HoldfastCore
import HoldfastSQLite

/// What a foreign writer left that no message can carry, or that the server is sure to refuse. See PROTOCOL.md, section 6.6.
struct UnsendableRecords {
  let database: LocalDatabase

  private var orphans: Orphans { Orphans(database: database) }
  private var missingCreates: MissingCreates { MissingCreates(database: database) }
  private var rebase: Rebase { Rebase(database: database) }
  private var quarantine: Quarantine { Quarantine(database: database) }
  private var recordSealing: RecordSealing { RecordSealing(database: database) }
  private var sendable: SendableValues { SendableValues(database: database) }

  /// Takes the records that can't be sent out of the loose edits: each as a change set of its own, with why.
  func take(from loose: inout [LooseRecord], clock: inout Stamp) throws -> [(
    body: [UInt8], problem: Problem
  )] {
    var found: [(body: [UInt8], problem: Problem)] = []
    var others: [LooseRecord] = []
    for record in loose {
      let fault = try sendable.fault(record)
      guard try fault != nil || sendable.isLarge(record) else {
        others.append(record)
        continue
      }
      var writer = OperationWriter()
      var stamp = clock
      let count = try recordSealing.seal(
        record, clock: &stamp, isStrict: false, to: &writer, unsendable: fault?.values ?? [:]
      ).count
      let isTooLarge = writer.count > Sealing.changeSetSize
      guard count > 0, fault != nil || isTooLarge else {
        others.append(record)
        continue
      }
      let tooLarge = Problem(
        .valueTooLong,
        "The record has \(writer.count) bytes; a change set has at most \(Sealing.changeSetSize)."
      )
      // No change set of the outbox has this number.
      try recordSealing.assign(record, to: 0)
      found.append((writer.finish(), fault?.problem ?? tooLarge))
      clock = stamp
    }
    loose = others
    return found
  }

  /// Puts them into quarantine, and rolls back what they did here. The other edits must be sealed by now: some may go with these.
  func quarantine(_ sets: [(body: [UInt8], problem: Problem)]) throws {
    if sets.isEmpty { return }
    try database.whileApplying {
      let taken = try rebase.rollBack([0])
      var lacking = try quarantine.lackingRecords()
      for (body, problem) in sets {
        try quarantine.add(first: 0, body: body, operation: 0, problem: problem.document, taken, &lacking)
      }
      try missingCreates.await(taken.back)
      try orphans.settle()
    }
  }
}
