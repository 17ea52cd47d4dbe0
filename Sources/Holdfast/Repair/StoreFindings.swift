public import HoldfastCore

/// What is wrong with a device's database.
///
/// ```swift
/// let findings = try await store.check()
/// if !findings.isSound { try await store.repair() }
/// ```
public struct StoreFindings: Sendable, Hashable {
  /// What SQLite says of pages and indexes, at most 100 lines; empty when they are well.
  public internal(set) var file: [String] = []
  /// The zones with records whose reference names none, or which the device does not have.
  public internal(set) var zones: TextSet = []

  /// Whether all is well.
  public var isSound: Bool { file.isEmpty && zones.isEmpty }
}
