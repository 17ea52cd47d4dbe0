package import HoldfastCore

/// What one request of REST writes. Its form and its values were checked; what depends on the records is decided in the transaction.
package struct RestCommand: Sendable {
  /// How the items belong together.
  package enum Form: Sendable {
    /// One item, which is the answer.
    case single
    /// Each stands alone.
    case each
    /// All or none.
    case atomic
  }

  package let key: DeviceKey
  /// The id that the sender gave the request, if any.
  package let request: RequestKey?
  package let form: Form
  /// In the order sent; a problem for each that is wrong already.
  package let items: [Result<RestItem, Problem>]
  /// The size of the request's content in bytes.
  package let contentSize: Int
  /// What earlier transactions have done of it.
  package var progress = RestProgress()
  /// Whether records are shown without their columns, where there are many.
  package var isMinimal = false

  package init(
    key: DeviceKey, request: RequestKey?, form: Form, items: [Result<RestItem, Problem>], contentSize: Int,
    progress: RestProgress = RestProgress()
  ) {
    (self.key, self.request, self.form, self.items, self.contentSize, self.progress) = (
      key, request, form, items, contentSize, progress
    )
  }

  /// The same request with more of it done.
  package func goingOn(from progress: RestProgress) -> RestCommand {
    var command = self
    command.progress = progress
    return command
  }
}

/// One thing that is done to one record.
package struct RestItem: Sendable {
  package enum Verb: String, Sendable {
    case create
    case update
    case replace
    case delete
    case restore
    /// Takes a value of a conflict.
    case resolve
  }

  /// A place in a list, as the sender says it.
  package enum Place: Sendable, Equatable {
    case first
    case last
    /// Beside the record of this id.
    case before(String)
    case after(String)
  }

  /// What the sender insists on.
  package enum Condition: Sendable, Equatable {
    /// A live record with this rev.
    case rev(Int64)
    /// A live record whose ETag has one of these contents.
    case tags([String])
    /// A live record.
    case present
    /// No live record.
    case absent
  }

  package let verb: Verb
  /// What is to be done, as far as it is known without the record.
  package let operation: RecordOperation
  package let condition: Condition?
  /// The columns of JSON that are merged into what is there.
  let patches: [Int]
  /// Columns that change by what is there: counters and sets.
  var increments: [RestIncrement] = []
  /// Of `resolve`, what is taken.
  package var choice: ConflictChoice?
  /// The columns of positions that are made in the transaction, and where.
  package var places: [Int: Place] = [:]

  /// The record.
  package var key: Footprint.Key { Footprint.Key(table: operation.table, id: operation.id) }
}

/// The value that somebody takes of a conflict.
package enum ConflictChoice: Sendable {
  case winner
  case loser
  /// Any other: its JSON.
  case value([UInt8])
}

/// What became of one item.
enum RestResult {
  /// The record as it is now.
  case record(ShownRecord, isNew: Bool)
  /// What stays of it.
  case deleted(Footprint.Key, Tombstone)
  /// There was nothing, and there is nothing.
  case nothing
  case failure(RestFailure)
}

/// A record in an answer.
struct ShownRecord {
  let record: StoredRecord
  /// The id of the request by which the sender created it, if any.
  let creator: String?
  /// Whether there is room for its columns; else it has no values.
  let isWhole: Bool
}

/// Why an item was not done.
struct RestFailure {
  let problem: Problem
  /// The record as it is now, where the sender is shown it.
  var now: Shown?

  /// A record, or what stays of it.
  enum Shown {
    case record(ShownRecord)
    case deleted(Footprint.Key, Tombstone)
  }
}

/// What became of all items.
enum RestOutcome {
  case results([RestResult])
  /// All were to be done or none, and none was.
  case refused([(index: Int, failure: RestFailure)])
}

extension RestCommand {
  /// What the command will probably touch.
  func footprint(_ schema: SyncSchema) -> Footprint {
    var footprint = Footprint(device: key, user: key.user, request: request?.id)
    for case .success(let item) in items.dropFirst(progress.done) {
      footprint.add(item.operation, schema, user: key.user)
      if item.verb == .update || item.verb == .replace || item.verb == .restore {
        footprint.shown.append(
          Footprint.Key(table: item.operation.table, id: item.operation.id))
      }
    }
    return footprint
  }
}
