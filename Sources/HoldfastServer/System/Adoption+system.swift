public import HoldfastPostgresStore

extension Adoption {
  /// Adoption in the database at `location`, with the system's randomness.
  public init(_ location: PostgresLocation) { self.init(location, environment: .system) }
}
