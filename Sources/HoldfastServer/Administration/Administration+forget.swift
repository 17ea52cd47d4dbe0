extension Administration {
  /// Makes one pass over what may be forgotten, also while servers run: docs/FORGETTING.md, section 2.
  ///
  /// - Returns: what was forgotten.
  public func purge(_ retention: Retention = Retention()) throws -> Forgotten {
    let store = operators.store
    let service = Service(
      store, schema, epoch: database.epoch, .much, rules: Rules(),
      clock: ServiceClock(try store.latestClock()), environment: environment, log: { _ in })
    let terms = ForgettingTerms(retention, epoch: database.epoch, now: environment.now())
    return try ForgettingPass(
      find: { [database] kind, place in
        try database.read { try $0.forgettable(kind, after: place, terms, limit: ForgettingPass.look) }
      },
      forget: { item in
        guard case .success(.forgot(let forgotten))? = service.apply([.forget(item, terms)])[0] else {
          return nil
        }
        return forgotten
      }
    ).run()
  }
}
