/// Reads Holdfast's own tables for the operators' console: docs/CONSOLE.md. Each query reads one table by its indexes.
package protocol ConsoleReader: AnyObject {
  /// The rows of a query, each with one text per column; nil for null. Booleans are `1` and `0`, times are milliseconds since 1970.
  func rows(_ query: ConsoleQuery) throws -> [[String?]]
}

/// A query of the console. The rows are ordered by the columns named after "by". `after` is the last value of the page before.
package enum ConsoleQuery: Sendable {
  /// Id, name, created, state of the erasure; by name.
  case usersByName(prefix: String, after: String, limit: Int)
  /// The same of some ids.
  case users([String])
  /// Number, id, user, name, whether it has a token, confirmed operations, acknowledged refusals, seen, session's begin, scope, whether its
  /// acks were purged, app, whether it is not seen since a restore; by number.
  case devices(after: Int64, limit: Int)
  /// The same of the devices of some users.
  case devicesOfUsers([String], after: Int64, limit: Int)
  /// The same of one id.
  case device(String)
  /// The same of some numbers.
  case devicesByNumber([Int64])
  /// Device, zone, epoch, seq, whether the zone was lost, purge horizon; by device and zone.
  case acks([Int64], limit: Int)
  /// The same of one device; by zone.
  case acksOfDevice(Int64, after: String, limit: Int)
  /// The same of one device in one zone.
  case ack(Int64, zone: String)
  /// The same of one zone, as far as they are of an epoch and not lost; those with the least seq or purge horizon first.
  case acksOfZone(String, epoch: String, limit: Int)
  /// Zone, seq, purged, whether it is public, seq at the last restore, records, bytes; by zone.
  case zonesByName(prefix: String, after: String, limit: Int)
  /// The same of some zones.
  case zones([String])
  /// User, role; by user.
  case accessToZone(String, after: String, limit: Int)
  /// Zone, role; by zone.
  case accessOfUser(String, after: String, limit: Int)
  /// Role of a user in a zone.
  case role(String, zone: String)
  /// Device, first operation, last operation, operation at fault, problem document; by device and first operation.
  case refusals(afterDevice: Int64, afterFirst: Int64, limit: Int)
  /// The same of one device; by first operation.
  case refusalsOfDevice(Int64, limit: Int)
  /// Table, zone, seq, rev, state (0 live, 1 deleted, 2 departed), stamps of a live record, stamp, device; live ones first.
  case places(record: String, limit: Int)
  /// Id, zone, table, record, column, policy, winner's value, user, device and time, loser's value, user, device and time, resolution; the
  /// newest first.
  case conflicts(before: String?, limit: Int)
  /// The same of one record.
  case conflictsOfRecord(String, limit: Int)
  /// Id, time, action, target, detail, operator, node, address; the newest first.
  ///
  /// - Parameter action: those of this action, or of another that begins so.
  case audit(before: String?, action: String, limit: Int)
  /// Time, content of a node's samples from a time on, by time.
  case samples(node: String, StoredSample.Span, from: Int64, limit: Int)
  /// The nodes with samples, by name.
  case sampledNodes(limit: Int)
}
