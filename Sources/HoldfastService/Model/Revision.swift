/// The revisions of records: 1 at the creation, 1 more with each change.
enum Revision {
  /// The greatest that a change gives: JavaScript holds integers below 2^53 exactly.
  static let greatest: Int64 = (1 << 53) - 1

  /// The revision behind one. One that is no less than the greatest stays, so that the record can still be changed and deleted.
  static func after(_ rev: Int64) -> Int64 { rev < greatest ? rev + 1 : rev }
}
