import HoldfastCore

/// The shared database, opened and fit for the schema; any thread.
protocol ServerDatabase: Sendable {
  /// The schema in force.
  var schema: Schema { get }
  /// The identity of this history: 8 hex digits.
  var epoch: String { get }
  /// Whether reading waits for a network, which no HTTP thread may.
  var readingWaits: Bool { get }

  /// A connection that writes.
  func store() throws -> any Store

  /// A connection that writes, and waits for what somebody else has locked; nil where there is nobody else.
  func patientStore() throws -> (any Store)?

  /// A connection that only reads.
  func reader() throws -> any StoreReader

  /// A connection for operators.
  func administration() throws -> any StoreAdministration
}
