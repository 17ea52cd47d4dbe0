import HoldfastCore
import HoldfastSQLite

/// The mark in a file that leaves its folder: between the removal of its data and its own nobody can use it.
extension DeviceTables {
  /// The form of a file that has left: one that no Holdfast opens.
  static let removedVersion: Int64 = 0x7FFF_FFFF

  /// Checks that a file has not left.
  ///
  /// - Throws: `StoreError.closed`.
  static func checkRemains(_ version: Int64?) throws {
    if version == removedVersion {
      throw StoreError(.closed, "The database was removed from this device. Nothing was written.")
    }
  }
}
