package import HoldfastCore

/// The requesting device, as a reader sees it.
package struct KnownDevice: Sendable {
  package var key: DeviceKey
  package let confirmed: Int64
  package let chain: Fingerprint
  /// When the device last wrote, in milliseconds since 1970.
  package let seenAt: Int64
  /// When the session began, in milliseconds since 1970.
  package let sessionAt: Int64
  /// The operation number up to which the device has acknowledged its refusals.
  package let acknowledgedRefusals: Int64
  /// Whether the server has stored a request of the current session.
  package let isSessionUsed: Bool
  /// For the device of a JWT: JWTs issued at or before this time are invalid (milliseconds since 1970). Nil for other devices.
  package let issuedAfter: Int64?
  /// Whether the device's acks were purged because it was dead, and it has not sent all acks since.
  package let hasPurgedAcks: Bool
  /// The app and schema version that the device reported last.
  package let client: ClientVersion?

  package init(
    key: DeviceKey, confirmed: Int64, chain: Fingerprint, seenAt: Int64, sessionAt: Int64,
    acknowledgedRefusals: Int64, isSessionUsed: Bool, issuedAfter: Int64?, hasPurgedAcks: Bool,
    client: ClientVersion?
  ) {
    (
      self.key, self.confirmed, self.chain, self.seenAt, self.sessionAt, self.acknowledgedRefusals,
      self.isSessionUsed, self.issuedAfter, self.hasPurgedAcks, self.client
    ) = (
      key, confirmed, chain, seenAt, sessionAt, acknowledgedRefusals, isSessionUsed, issuedAfter,
      hasPurgedAcks, client
    )
  }
}

extension KnownDevice {
  /// Whether a device `d` takes sessions, as an SQL condition. Those of JWTs and of service tokens take none.
  package static let takesSessions = "d.issued_after IS NULL AND d.scope IS NULL"
  /// Whether a device `d` has a session, as an SQL condition.
  package static let hasSession = "d.token_hash IS NOT NULL AND \(takesSessions)"

  /// The milliseconds for which the token stays valid without another look-up; nil if it is invalid, as its session has expired. Tokens
  /// other than session tokens stay valid until they are revoked.
  package func sessionRest(_ limits: UserLimits, at now: Int64) -> Int64? {
    guard key.use.isTaken(after: issuedAfter) else { return nil }
    guard case .session = key.use else { return 3_600_000 }
    let end = min(seenAt.addingClamped(limits.sessionIdle), lifetimeEnd(limits))
    // A write extends the session, but the next look-up may be late, so the result is capped at an hour.
    return now < end ? min(end - now, 3_600_000) : nil
  }

  private func lifetimeEnd(_ limits: UserLimits) -> Int64 {
    sessionAt.addingClamped(limits.sessionLifetime)
  }

  /// How long the session may last, however much it is used.
  package func lifetimeRest(_ limits: UserLimits, at now: Int64) -> Duration {
    let (rest, isBeyond) = lifetimeEnd(limits).subtractingReportingOverflow(now)
    return .milliseconds(isBeyond ? Int64.max / 1_000_000 : max(rest, 0))
  }
}

extension Int64 {
  /// Adds a duration to a time in milliseconds. Clamps an overflow to `Int64.max`.
  func addingClamped(_ duration: Duration) -> Int64 {
    let (milliseconds, isBeyond) = duration.components.seconds.multipliedReportingOverflow(by: 1000)
    if isBeyond { return .max }
    let (sum, isTooLate) = addingReportingOverflow(milliseconds)
    return isTooLate ? .max : sum
  }
}

extension KnownDevice {
  /// The device after a write of it.
  package func moved(_ moved: MovedDevice) -> KnownDevice {
    KnownDevice(
      key: key, confirmed: moved.state.confirmed, chain: moved.state.chain, seenAt: moved.state.seenAt,
      sessionAt: sessionAt, acknowledgedRefusals: moved.state.acknowledgedRefusals,
      isSessionUsed: moved.state.isSessionUsed, issuedAfter: issuedAfter, hasPurgedAcks: hasPurgedAcks,
      client: client)
  }
}
