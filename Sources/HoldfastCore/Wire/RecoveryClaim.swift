/// What a device says of a zone of which it has more than the server; docs/RESTORING.md, section 4.
public struct RecoveryClaim: Hashable, Sendable {
  /// The greatest number of them in one request, and of zones for which proofs are asked.
  public static let limit = 1000

  /// The zone.
  public let zone: String
  /// What the server gave last as proof of the role; "" when the device has none.
  public let proof: String
  /// The role that the user had, as the device has it: for a person to look at. "" when it is not known.
  public let role: String
  /// How many confirmed records of the zone the device has.
  public let records: Int64

  /// A claim of its parts.
  public init(zone: String, proof: String, role: String, records: Int64) {
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
