package import HoldfastCore

/// Creates and verifies proofs, which devices store to show what the server confirmed to them: docs/RESTORING.md, section 4. A proof is
/// valid for one user or device, and only with the key of its database. Nobody without the key can create one.
package struct Prover: Sendable {
  package static let keySize = 32

  private let codes: MessageCode

  package init(key: [UInt8]) { codes = MessageCode(key: key) }

  /// A proven role: a user's role in a zone at a seq of the zone.
  package struct Role: Sendable, Equatable {
    package let epoch: String
    package let seq: Int64
    package let role: HoldfastCore.Role

    package init(epoch: String, seq: Int64, role: HoldfastCore.Role) {
      (self.epoch, self.seq, self.role) = (epoch, seq, role)
    }
  }

  /// A proven progress: up to which operation the server has processed a device.
  package struct Progress: Sendable, Equatable {
    let epoch: String
    let confirmed: Int64
    let chain: String
  }

  package func proof(of role: Role, of user: String, in zone: String) -> String {
    signed([role.epoch, String(role.seq), role.role.rawValue], ["role", user, zone])
  }

  package func proof(of progress: Progress, of device: Int64) -> String {
    signed([progress.epoch, String(progress.confirmed), progress.chain], ["device", String(device)])
  }

  /// The role that a proof shows; nil if the proof is invalid for this user and zone.
  package func role(shownBy proof: String, of user: String, in zone: String) -> Role? {
    guard let words = words(of: proof, ["role", user, zone]), let seq = Int64(words[1]),
      let role = HoldfastCore.Role(rawValue: words[2])
    else { return nil }
    return Role(epoch: words[0], seq: seq, role: role)
  }

  /// The progress that a proof shows; nil if the proof is invalid for this device.
  package func progress(shownBy proof: String, of device: Int64) -> Progress? {
    guard let words = words(of: proof, ["device", String(device)]), let confirmed = Int64(words[1]) else {
      return nil
    }
    return Progress(epoch: words[0], confirmed: confirmed, chain: words[2])
  }

  private func signed(_ words: [String], _ bound: [String]) -> String {
    var proof = ""
    for word in words { proof += word + "." }
    return proof + Base64.urlText(code(of: bound + words))
  }

  private func words(of proof: String, _ bound: [String]) -> [String]? {
    let parts = proof.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard proof.utf8.count <= 200, parts.count == 4, let given = Base64.bytes(url: parts[3]),
      given.count == MessageCode.size
    else { return nil }
    let words = Array(parts.prefix(3))
    return MessageCode.isSame(given, code(of: bound + words)) ? words : nil
  }

  /// The code of texts, each behind its length.
  private func code(of texts: [String]) -> [UInt8] {
    var message: [UInt8] = []
    message.reserveCapacity(256)
    for text in texts {
      withUnsafeBytes(of: UInt32(truncatingIfNeeded: text.utf8.count).bigEndian) { message += $0 }
      message += text.utf8
    }
    return codes.code(of: [message])
  }
}
