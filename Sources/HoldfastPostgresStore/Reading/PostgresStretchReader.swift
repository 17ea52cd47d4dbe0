import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// Reads the stretches of a large page one after the other, in a transaction.
///
/// Records that were made one after the other have ids near each other (UUIDv7). So the ledger of a stretch is read one round trip before its
/// values, and these with one scan of the table from the least id to the greatest. Where others have too many records between them, each is
/// looked up by its id, in this stretch and in the zone's next ones.
final class PostgresStretchReader {
  /// From how many records of a table in a stretch on they are scanned.
  private static let few = 128

  private let feed: PostgresChangeFeed
  private let connection: PostgresConnection
  /// The ledger of the next stretch.
  private var ahead: PostgresStretch?

  init(_ feed: PostgresChangeFeed, on connection: PostgresConnection) {
    (self.feed, self.connection) = (feed, connection)
  }

  /// Reads the first changes of a zone.
  ///
  /// - Parameter work: runs while the database reads.
  func next(_ zone: ZoneProgress, size: Int, meanwhile work: () -> Void) throws -> PostgresStretch? {
    let isWhole = size == PostgresChangeFeed.size
    guard ahead != nil || isWhole, !feed.hints.isSpread(zone.zone) else {
      return try feed.read([zone], size: size, on: connection, meanwhile: work).first
    }
    if ahead?.zone.ack.seq == zone.ack.seq { return try values(of: zone, size, work) }
    ahead = try ledger(of: zone, meanwhile: work)
    return try values(of: zone, size) {}
  }

  private func ledger(of zone: ZoneProgress, meanwhile work: () -> Void) throws -> PostgresStretch? {
    var asked: PostgresChangeFeed.Asked?
    let answers = try connection.pipeline({ asked = feed.askLedger(zone, $0) }, meanwhile: work)
    return asked.flatMap { feed.stretches($0, of: [zone], answers).first }
  }

  /// Reads the values of the stretch whose ledger was read, and the ledger of the one after it.
  private func values(of zone: ZoneProgress, _ size: Int, _ work: () -> Void) throws -> PostgresStretch? {
    guard var stretch = ahead else { return nil }
    ahead = nil
    stretch.cut(to: size)
    let spans = stretch.spans
    var scanned: [(span: PostgresStretch.Span, number: Int)] = []
    var (others, next): ([(table: String, number: Int)], PostgresChangeFeed.Asked?) = ([], nil)
    let after = stretch.isCut && size == PostgresChangeFeed.size ? stretch.last.map { zone.acked($0) } : nil
    let answers = try connection.pipeline(
      { pipe in
        for span in spans {
          if span.count >= Self.few, let scan = feed.sources[span.table]?.scan {
            let parameters = PostgresParameters(zone.zone, span.least, span.greatest, Int64(span.count) * 2)
            scanned.append((span, pipe.send(scan, parameters)))
          } else if let number = feed.askValues(of: span.table, zone, size, pipe) {
            others.append((span.table, number))
          }
        }
        next = after.map { feed.askLedger($0, pipe) }
      }, meanwhile: work)
    for (table, number) in others {
      stretch.values[table] = .init(rows: answers[number], rest: answers[number].indices)
    }
    for (span, number) in scanned where !stretch.take(answers[number], of: span.table) {
      feed.hints.noteSpread(zone.zone)
      return try feed.read([zone], size: size, on: connection).first
    }
    if let next, let after { ahead = feed.stretches(next, of: [after], answers).first }
    return stretch
  }
}
