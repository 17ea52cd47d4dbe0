import HoldfastCore

/// How a zone comes to this device, as `holdfast_zones.resync` has it.
enum ResyncReason: Int64 {
  /// Each part follows the one before.
  case none = 0
  /// From the beginning, and what is here may be of long ago.
  case replaced = 1
  /// From the beginning; what the server has lost of it is recovered: docs/RESTORING.md, section 4.
  case recovered = 2
  /// From the beginning, as columns are new here. What is here is whole up to `token`, and is not to be thrown away.
  case filled = 3
  /// The same, but the server is asked first what `token` is worth: it was restored, or says that the zone is lost.
  case verified = 4
  /// From the beginning, as edits may be here that no trigger recorded: what differs is kept. See `ZoneComparison`.
  case compared = 5
}
