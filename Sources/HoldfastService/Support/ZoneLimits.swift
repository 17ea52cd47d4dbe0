/// How much a zone may hold, before a change set that makes it larger is refused: `zone-full`.
public struct ZoneLimits: Sendable, Equatable {
  /// The greatest number of records; nil for none.
  public var records: Int64? = 1_000_000
  /// The greatest number of bytes; nil for none.
  public var bytes: Int64? = 1 << 30

  /// The limits unless others are given.
  public init() {}
}
