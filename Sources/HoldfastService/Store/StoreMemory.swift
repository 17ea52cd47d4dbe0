/// What a server knows of the database as it is now without asking it: what was read in the very state that it is in.
package protocol StoreMemory {
  /// The device of a token, and the history; nil where that is not known.
  func device(_ token: TokenHash) -> (device: KnownDevice, history: History)?

  /// What a device was answered when it last said the same; nil where that is not known.
  func answer(to request: QuietRequest, of device: Int64) -> [UInt8]?

  /// A zone with the role of a user, and an ack at its beginning; nil where that is not known.
  func zone(_ zone: String, for user: String) -> ZoneProgress?
}
