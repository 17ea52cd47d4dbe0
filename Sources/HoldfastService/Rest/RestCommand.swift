package import HoldfastCore

/// The writes of one REST request. Form and values are already checked; the transaction checks what depends on records.
package struct RestCommand: Sendable {
  /// How the items relate.
  package enum Form: Sendable {
    /// One item; its result is the answer.
    case single
    /// Each item succeeds or fails separately.
    case each
    /// All items succeed, or none.
    case atomic
  }

  package let key: DeviceKey
  /// The id that the client gave the request, if any.
  package let request: RequestKey?
  package let form: Form
  /// In the order of the request. A problem replaces each invalid item.
  package let items: [Result<RestItem, Problem>]
  /// The size of the request's content in bytes.
  package let contentSize: Int
  /// The progress by earlier transactions.
  package var progress = RestProgress()
  /// Whether records are shown without their columns, where there are many.
  package var isMinimal = false
  /// Names of users that this database does not know, while the directory did not answer.
  package var unreachable: TextSet = []

  package init(
    key: DeviceKey, request: RequestKey?, form: Form, items: [Result<RestItem, Problem>], contentSize: Int,
    progress: RestProgress = RestProgress()
  ) {
    (self.key, self.request, self.form, self.items, self.contentSize, self.progress) = (
      key, request, form, items, contentSize, progress
    )
  }

  /// The same request with new progress.
  package func goingOn(from progress: RestProgress) -> RestCommand {
    var command = self
    command.progress = progress
    return command
  }
}

/// One operation on one record. An object, as it is handed on often.
package final class RestItem: Sendable {
  package enum Verb: String, Sendable {
    case create
    case update
    case replace
    case delete
    case restore
    /// Chooses a value of a conflict.
    case resolve
  }

  /// A place in a list, relative to its ends or to another record.
  package enum Place: Sendable, Equatable {
    case first
    case last
    /// Next to the record with this id.
    case before(String)
    case after(String)
  }

  /// A precondition of the client.
  package enum Condition: Sendable, Equatable {
    /// The record is live and has this rev.
    case rev(Int64)
    /// The record is live, and its ETag has one of these contents.
    case tags([String])
    /// The record is live.
    case present
    /// The record is not live.
    case absent
  }

  package let verb: Verb
  /// The operation, as far as it is known without the record.
  package let operation: RecordOperation
  package let condition: Condition?
  /// The JSON columns that are merged into the current value.
  let patches: [Int]
  /// Columns that change relative to the current value: counters and sets.
  let increments: [RestIncrement]
  /// For `resolve`: the chosen value.
  package let choice: ConflictChoice?
  /// The position columns that the transaction fills in, and the places.
  package let places: [Int: Place]

  init(
    verb: Verb, operation: RecordOperation, condition: Condition?, patches: [Int] = [],
    increments: [RestIncrement] = [], choice: ConflictChoice? = nil, places: [Int: Place] = [:]
  ) {
    self.verb = verb
    self.operation = operation
    self.condition = condition
    self.patches = patches
    self.increments = increments
    self.choice = choice
    self.places = places
  }

  /// The record.
  package var key: Footprint.Key { Footprint.Key(table: operation.table, id: operation.id) }
}

/// The value that a client chooses in a conflict.
package enum ConflictChoice: Sendable {
  case winner
  case loser
  /// Another value, as JSON.
  case value([UInt8])
}

/// The result of one item.
enum RestResult {
  /// The record's current state.
  case record(ShownRecord, isNew: Bool)
  /// The record's tombstone.
  case deleted(Footprint.Key, Tombstone)
  /// The record did not exist, and does not exist.
  case nothing
  case failure(RestFailure)
}

/// A record in an answer.
struct ShownRecord {
  let record: StoredRecord
  /// The id of the request by which the client created the record, if any.
  let creator: String?
  /// Whether the answer has room for the columns. Otherwise the record has no values.
  let isWhole: Bool
}

/// The reason why an item failed.
struct RestFailure {
  let problem: Problem
  /// The record's current state, if the client may see it.
  var now: Shown?

  /// A record or its tombstone.
  enum Shown {
    case record(ShownRecord)
    case deleted(Footprint.Key, Tombstone)
  }
}

/// The result of all items.
enum RestOutcome {
  case results([RestResult])
  /// An atomic request was refused. Nothing was written.
  case refused([(index: Int, failure: RestFailure)])
}

extension RestCommand {
  /// The footprint of the command.
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
