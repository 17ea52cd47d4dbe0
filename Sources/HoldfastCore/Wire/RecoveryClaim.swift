/// A device's claim that it has more of a zone than the server; docs/RESTORING.md, section 4.
package struct RecoveryClaim: Hashable, Sendable {
  /// The maximum number of claims in one request, and of zones for which the server requests proofs.
  package static let limit = 1000

  /// The zone.
  package let zone: String
  /// The server's last proof of the role; "" if the device has none.
  package let proof: String
  /// The user's role according to the device, shown to the operator; "" if unknown.
  package let role: String
  /// The number of confirmed records of the zone on the device.
  package let records: Int64

  /// Creates a claim.
  package init(zone: String, proof: String, role: String, records: Int64) {
    (self.zone, self.proof, self.role, self.records) = (zone, proof, role, records)
  }

  static func readAll(_ reader: inout JSONReader) throws -> [RecoveryClaim] {
    var claims: [RecoveryClaim] = []
    try reader.readObject { key, reader in
      if claims.count == limit { throw Problem(.invalidRequest, "claims has more than \(limit) zones.") }
      let zone = key.string
      guard Identifier.isPossible(zone) else {
        throw Problem(.invalidRequest, "A zone in claims has no zone's name.")
      }
      var (proof, role, records): (String, String, Int64) = ("", "", 0)
      try reader.readObject { key, reader in
        switch key {
        case "proof": proof = try reader.readString()
        case "role": role = try reader.readString()
        case "records": records = try reader.readInt64()
        default: throw Problem(.invalidRequest, "\(key.string.prefix(64)) is an unknown member of a claim.")
        }
      }
      claims.append(RecoveryClaim(zone: zone, proof: proof, role: role, records: max(0, records)))
    }
    return claims
  }

  static func writeAll(_ claims: [RecoveryClaim], to writer: inout JSONWriter) {
    writer.beginObject()
    for claim in claims {
      writer.key(named: claim.zone)
      writer.beginObject()
      writer.key("proof")
      writer.string(claim.proof)
      writer.key("role")
      writer.string(claim.role)
      writer.key("records")
      writer.int64(claim.records)
      writer.endObject()
    }
    writer.endObject()
  }
}
