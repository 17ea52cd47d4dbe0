public import HoldfastService

extension Administration {
  /// Makes one pass over what may be purged, also while servers run: docs/RETENTION.md, section 2.
  ///
  /// - Parameters:
  ///   - trustsClock: whether the clock is right, however far it is ahead: docs/RETENTION.md, section 7.
  ///   - warn: is told when the clock is not believed, and what to do.
  ///   - pause: lets time go by between two steps, in which servers write.
  /// - Returns: what was purged.
  public func purge(
    _ retention: Retention = Retention(), trustsClock: Bool = false, warn: (String) -> Void = { _ in },
    pause: @escaping (Duration) -> Void = { _ in }
  ) throws -> Purged {
    try pass(retention, trustsClock: trustsClock, warn: warn, pause).run()
  }

  func pass(
    _ retention: Retention, trustsClock: Bool = false, warn: (String) -> Void = { _ in },
    _ pause: @escaping (Duration) -> Void
  ) throws -> RetentionPass {
    let store = operators.store
    let service = Service(
      store, schema, .slow, rules: Rules(),
      clock: try ServiceClock(of: store, environment), environment: environment, log: { _ in })
    guard case .success(.time(let step))? = service.apply([.keepTime(isTrusted: trustsClock)])[0] else {
      throw ServerError(.unreachable, "The time could not be written. Run it again.")
    }
    if let warning = step.warning { warn(warning) }
    let terms = RetentionTerms(retention, in: database.history, at: step.time)
    return RetentionPass(
      find: { [database, schema] kind, place in
        try database.read { try $0.found(kind, after: place, terms, in: schema) }
      },
      purge: { item in
        guard case .success(.purged(let purged))? = service.apply([.purge(item, terms)])[0] else {
          return nil
        }
        return purged
      },
      pause: pause)
  }
}
