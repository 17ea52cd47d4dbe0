package import HoldfastCore

/// Executes the items of one REST request, in the transaction of its command. It adds the rules of PROTOCOL.md, section 9, to those of
/// change sets.
final class RestRun {
  /// A record as far as the client may see it.
  enum VisibleRecord {
    case live(StoredRecord)
    case deleted(Tombstone)
    case nothing
  }

  /// The records that the items created.
  private(set) var created: [CreatedRecord] = []
  let work: UnitOfWork
  let text: RestText
  let command: RestCommand
  let author: Author
  /// What the request created when it was done before, by the index of the item.
  private var made: [Int: Footprint.Key] = [:]
  /// Whether the answer tells of some of it.
  private(set) var hasRecalled = false
  /// The remaining bytes of records that fit into the answer.
  var room = 0
  /// The last item, if it is a deletion that is only partly done.
  private(set) var cut: CutDeletion?
  /// The state before each item that was begun.
  private var before: [VisibleRecord?]

  var stores: RecordStores { work.stores }

  init(_ command: RestCommand, by author: Author, on work: UnitOfWork, _ text: RestText) {
    self.command = command
    self.author = author
    self.work = work
    self.text = text
    before = Array(repeating: nil, count: command.items.count)
  }

  /// Executes independent items within the time budget: at least one of the remaining ones, or a piece of it.
  ///
  /// - Parameter progress: the progress by earlier transactions.
  /// - Returns: the results of the items executed now.
  func runEach(after progress: RestProgress) throws -> [RestResult] {
    room = work.environment.answerSize - progress.results.count
    var results: [RestResult] = []
    for (index, item) in command.items.enumerated().dropFirst(progress.done) {
      if !results.isEmpty, work.hasDoneEnough(results.count) { break }
      switch item {
      case .failure(let problem): results.append(.failure(RestFailure(problem: problem)))
      case .success(let item):
        if let key = made[index] {
          results.append(try recall(key, item.verb, isNew: true))
          hasRecalled = true
          continue
        }
        let begun = command.progress.cut.flatMap { $0.place == index ? $0 : nil }
        guard let result = try runAlone(item, index, after: begun) else { return results }
        results.append(result)
      }
    }
    return results
  }

  /// Executes one item; nil if only a piece of it is done.
  private func runAlone(_ item: RestItem, _ index: Int, after begun: CutDeletion?) throws -> RestResult? {
    if item.verb == .resolve { return try resolve(item) }
    // A condition that holds now may fail before the last piece.
    let piece = try work.runPiece(
      [item.operation], by: author, keeper: 0, after: begun, mayBeCut: item.condition == nil
    ) { [unowned self] _, _ in try prepare(item, index) }
    cut = piece.cut
    cut?.place = Int64(index)
    if cut != nil { return nil }
    if let refused = piece.refused { return .failure(try failure(refused.problem, item)) }
    return try result(item, index)
  }

  /// Executes all items atomically.
  func runTogether() throws -> RestOutcome {
    room = work.environment.answerSize
    var items: [RestItem] = []
    var wrong: [(index: Int, failure: RestFailure)] = []
    for (index, item) in command.items.enumerated() {
      switch item {
      case .success(let item): items.append(item)
      case .failure(let problem): wrong.append((index, RestFailure(problem: problem)))
      }
    }
    if !wrong.isEmpty { return .refused(wrong) }
    if items.isEmpty { return .results([]) }
    let refused = try work.run(items.map(\.operation), by: author, keeper: 0) { [unowned self] index, _ in
      try prepare(items[index], index)
    }
    if let refused {
      return .refused([(refused.index, try failure(refused.problem, items[refused.index]))])
    }
    return .results(try items.enumerated().map { try result($1, $0) })
  }

  // MARK: Before an item

  /// Computes an item's operation from the current record, when the item is applied.
  ///
  /// - Throws: `Problem` if the item is refused. It then has no effect.
  private func prepare(_ item: RestItem, _ index: Int) throws -> RecordOperation {
    let visible = try look(item.key)
    before[index] = visible
    try check(item.condition, of: item.verb, visible)
    let operation = try decide(item, visible)
    return item.places.isEmpty ? operation : try place(operation, item.places, visible)
  }

  /// The item's operation on the current record, still without positions.
  private func decide(_ item: RestItem, _ visible: VisibleRecord) throws -> RecordOperation {
    let operation = item.operation
    switch (item.verb, visible) {
    case (.delete, _), (.create, .nothing), (.resolve, _): return operation
    case (.create, .live), (.restore, .live): throw Problem(.recordExists)
    case (.create, .deleted): throw Problem(.recordDeleted)
    case (.update, .nothing), (.restore, .nothing): throw Problem(.recordUnknown)
    case (.update, .live(let record)): return try patched(item, record)
    case (.update, .deleted), (.replace, .deleted):
      // The update fails, and one failure rolls back an atomic request.
      if command.form == .atomic { throw Problem(.recordDeleted) }
      let settings = operation.settings.filter { $0.value != .null }
      return operation.made(.update, settings: try settings + increased(item, of: nil))
    case (.replace, .nothing):
      if !Identifier.isUUID(operation.id) { throw Problem(.invalidID, "A new record takes a UUID.") }
      if stores.schema.tables[operation.table].zone == .explicit, operation.zone == nil {
        throw Problem(.valueMissing, "zone is required in \(stores.schema.tables[operation.table].name).")
      }
      return operation
    case (.replace, .live(let record)):
      if let zone = operation.zone, zone != record.zone {
        throw Problem(.invalidOperation, "The zone of a record can't change so.")
      }
      return operation.made(.update)
    case (.restore, .deleted(let tombstone)):
      return operation.made(.create, zone: operation.zone ?? tombstone.zone)
    }
  }

  private func check(_ condition: RestItem.Condition?, of verb: RestItem.Verb, _ visible: VisibleRecord)
    throws
  {
    guard let condition else { return }
    switch (condition, visible) {
    case (.absent, .live): throw Problem(.preconditionFailed)
    case (.absent, _), (.present, .live): return
    case (.rev(let rev), .live(let record)):
      if record.rev != rev { throw Problem(.preconditionFailed) }
    case (.tags(let tags), .live(let record)):
      let tag = work.store.history.tag(rev: record.rev)
      if !tags.contains(where: { TextKey($0) == TextKey(tag) }) { throw Problem(.preconditionFailed) }
    case (_, .deleted):
      // A delete is already done. Another conditional write fails, and writes nothing.
      if verb != .delete { throw Problem(.recordDeleted) }
    case (_, .nothing):
      if verb == .replace { throw Problem(.preconditionFailed) }
    }
  }

  /// Merges an item's JSON patches and increments into the record's values.
  private func patched(_ item: RestItem, _ record: StoredRecord) throws -> RecordOperation {
    if item.patches.isEmpty, item.increments.isEmpty { return item.operation }
    let columns = stores.schema.tables[record.table].columns
    let settings = try item.operation.settings.map { setting in
      guard item.patches.contains(setting.column), case .text(let patch) = setting.value else {
        return setting
      }
      let target = record.values[setting.column].text.map { Array($0.utf8) }
      let merged: [UInt8]
      // SQL may have stored JSON that cannot be parsed. It is not an object, so the patch replaces it.
      do { merged = try JSONMergePatch.apply(Array(patch.utf8), to: target) } catch is JSONError {
        merged = try JSONMergePatch.apply(Array(patch.utf8), to: nil)
      }
      let value = Value.text(String(decoding: merged, as: UTF8.self))
      try columns[setting.column].check(value)
      return RecordOperation.Setting(column: setting.column, value: value)
    }
    return item.operation.made(.update, settings: try settings + increased(item, of: record))
  }

  /// The results of an item's increments on a record; on empty values without one.
  private func increased(_ item: RestItem, of record: StoredRecord?) throws -> [RecordOperation.Setting] {
    let columns = stores.schema.tables[item.key.table].columns
    return try item.increments.map { increment in
      let current = record?.values[increment.column] ?? .null
      let value = try increment.applied(to: current, columns[increment.column])
      return RecordOperation.Setting(column: increment.column, value: value, base: current)
    }
  }

  // MARK: After an item

  private func result(_ item: RestItem, _ index: Int) throws -> RestResult {
    var isNew = item.verb == .create
    switch (item.verb, before[index]) {
    case (.delete, .nothing?): return .nothing
    case (.replace, .nothing?): isNew = true
    default: break
    }
    if isNew {
      created.append(
        CreatedRecord(
          place: index, table: stores.schema.tables[item.key.table].name, id: item.key.id))
    }
    // Ignores the client's access: a client that gave up its own membership still gets the tombstone.
    if let record = try stores.tables[item.key.table].record(item.key.id) {
      let creator =
        try isNew
        ? command.request?.id : work.stores.requests.creator(of: item.key, for: author.user)
      return .record(show(record, creator), isNew: isNew)
    }
    guard
      let tombstone = try stores.tombstones.deletion(
        item.key.id, of: stores.schema.tables[item.key.table].name)
    else { return .nothing }
    if case .deleted? = before[index], item.verb != .delete, command.form != .atomic {
      return .failure(
        RestFailure(problem: Problem(.recordDeleted), now: .deleted(item.key, tombstone)))
    }
    return .deleted(item.key, tombstone)
  }

  /// A record for the answer. Many large ones would fill the memory: behind the limit they go without their values, as those do whose sender does not
  /// want them.
  func show(_ record: StoredRecord, _ creator: String?) -> ShownRecord {
    let isWhole = command.form == .single || room > 0 && !command.isMinimal
    room -= record.size
    if isWhole { return ShownRecord(record: record, creator: creator, isWhole: true) }
    var head = record
    head.values = []
    return ShownRecord(record: head, creator: creator, isWhole: false)
  }

  func failure(_ problem: Problem, _ item: RestItem) throws -> RestFailure {
    switch (problem.code, try look(item.key)) {
    case (.preconditionFailed, .live(let record)):
      let creator = try work.stores.requests.creator(of: item.key, for: author.user)
      return RestFailure(problem: problem, now: .record(show(record, creator)))
    case (.recordDeleted, .deleted(let tombstone)):
      return RestFailure(problem: problem, now: .deleted(item.key, tombstone))
    default: return RestFailure(problem: problem)
    }
  }

  /// A record as far as the client may see it. A record of another zone does not exist for it.
  func look(_ key: Footprint.Key) throws -> VisibleRecord {
    if try stores.transaction.isNowhere(key) { return .nothing }
    if let record = try stores.tables[key.table].record(key.id) {
      return try stores.ledger.role(of: author.user, in: record.zone) == nil ? .nothing : .live(record)
    }
    let table = stores.schema.tables[key.table].name
    guard let tombstone = try stores.tombstones.deletion(key.id, of: table),
      try stores.ledger.role(of: author.user, in: tombstone.zone) != nil
    else { return .nothing }
    return .deleted(tombstone)
  }

  // MARK: Requests that were done before

  /// Takes note of what this request created when it was done before.
  func learn(made records: [CreatedRecord]) {
    for record in records {
      made[record.place] = stores.schema.index(of: record.table).map {
        Footprint.Key(table: $0, id: record.id)
      }
    }
  }

  /// The current state of the records of a request that was done as a whole, and whose answer is purged. Writes nothing.
  func recall() throws -> RestOutcome {
    room = work.environment.answerSize
    return .results(
      try command.items.enumerated().map { index, item in
        switch item {
        case .success(let item):
          return try recall(made[index] ?? item.key, item.verb, isNew: made[index] != nil)
        case .failure(let problem): return .failure(RestFailure(problem: problem))
        }
      })
  }

  private func recall(_ key: Footprint.Key, _ verb: RestItem.Verb, isNew: Bool) throws -> RestResult {
    switch try look(key) {
    case .live(let record):
      let creator = try work.stores.requests.creator(of: key, for: author.user)
      return .record(show(record, creator), isNew: isNew)
    case .deleted(let tombstone):
      if verb == .delete { return .deleted(key, tombstone) }
      return .failure(RestFailure(problem: Problem(.recordDeleted), now: .deleted(key, tombstone)))
    case .nothing:
      return verb == .delete ? .nothing : .failure(RestFailure(problem: Problem(.recordUnknown)))
    }
  }
}

extension RecordOperation {
  /// The operation with another kind, and with values that are known only now.
  package func made(_ kind: Kind, settings: [Setting]? = nil, zone: String? = nil) -> RecordOperation {
    RecordOperation(
      kind: kind, table: table, id: id, rev: rev, stamp: stamp, settings: settings ?? self.settings,
      zone: zone ?? self.zone, isExplicitRestore: isExplicitRestore)
  }
}
