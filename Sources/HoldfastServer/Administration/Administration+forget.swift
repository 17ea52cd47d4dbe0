extension Administration {
  /// Makes one pass over what may be forgotten, also while servers run: docs/FORGETTING.md, section 2.
  ///
  /// - Parameter pause: lets time go by between two steps, in which servers write.
  /// - Returns: what was forgotten.
  public func purge(
    _ retention: Retention = Retention(), pause: @escaping (Duration) -> Void = { _ in }
  ) throws -> Forgotten {
    try pass(retention, pause).run()
  }

  func pass(_ retention: Retention, _ pause: @escaping (Duration) -> Void) throws
    -> ForgettingPass
  {
    let store = operators.store
    let service = Service(
      store, schema, .much, rules: Rules(),
      clock: ServiceClock(try store.latestClock()), environment: environment, log: { _ in })
    let terms = ForgettingTerms(retention, epoch: database.epoch, now: environment.now())
    return ForgettingPass(
      find: { [database, schema] kind, place in
        try database.read { try $0.found(kind, after: place, terms, in: schema) }
      },
      forget: { item in
        guard case .success(.forgot(let forgotten))? = service.apply([.forget(item, terms)])[0] else {
          return nil
        }
        return forgotten
      },
      pause: pause)
  }
}
