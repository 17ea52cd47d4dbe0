import HoldfastCore

/// How a zone comes to this device; its raw value is `holdfast_zones.resync`.
enum ResyncReason: String {
  /// Each part follows the one before.
  case none = ""
  /// From the beginning; the records that are here may be outdated.
  case replaced
  /// From the beginning; records that the server has lost are recovered: docs/RESTORING.md, section 4.
  case recovered
  /// From the beginning, as columns are new here, or as the app asks for it. The records that are here are whole up to `token`, and stay.
  case filled
  /// The same, but the server first verifies `token`: it was restored, or it reports the zone as lost.
  case verified
  /// From the beginning, as edits may be here that no trigger recorded; values that differ are kept. See `ZoneComparison`.
  case compared

  /// Whether the records that are here can't be relied on. Such a resync ends only with a whole copy.
  var replacesAll: Bool { self == .replaced || self == .recovered || self == .compared }
}
