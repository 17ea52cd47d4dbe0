import HoldfastCore
import ServerScenes
import Testing

@testable import HoldfastServer

/// Zones that an operator names in a command.
@Suite struct OperatorZoneTests {
  @Test("a token and a reset for a zone that is not there are refused, and nothing is changed")
  func unknownZone() throws {
    let server = try TestServer()
    let list = try server.signUp("ann").makeList()
    let administration = try Administration(server.location)
    func code(_ body: () throws -> Void) -> ServerError.Code? {
      do { try body() } catch { return (error as? ServerError)?.code }
      return nil
    }
    for zone in ["nozone", "", list.uppercased() + "0"] {
      #expect(
        code {
          _ = try administration.createToken(name: "job", role: .viewer, tables: nil, zones: [list, zone])
        } == .notFound)
      for selection in [DeviceSelection.all, .user("ann")] {
        #expect(code { try administration.reset(selection, zone: zone) } == .notFound)
      }
    }
    #expect(try administration.tokens().rows.isEmpty)
    // The zone of a list, and a public zone of the schema.
    _ = try administration.createToken(name: "job", role: .viewer, tables: nil, zones: [list, "catalogue"])
    try administration.reset(.all, zone: list)
    try administration.reset(.all, zone: "catalogue")
  }
}
