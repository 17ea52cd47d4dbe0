/// The limits per zone. A change set that enlarges a zone beyond them is refused: `zone-full`.
public struct ZoneLimits: Sendable, Equatable {
  /// The maximum number of records; nil for no limit.
  public var records: Int64? = 1_000_000
  /// The maximum number of bytes; nil for no limit.
  public var bytes: Int64? = 1 << 30

  /// Creates the default limits.
  public init() {}
}
