import HoldfastCore
import HoldfastService

/// The addresses that `ConsoleAnswers` reads from the database.
enum ConsoleAddress {
  /// What an address reads; nil for those that are answered otherwise.
  ///
  /// - Throws: `Problem.invalidRequest` for an unknown or wrong parameter.
  static func query(
    _ parts: [String], _ parameters: QueryParameters, _ console: Console
  ) throws(Problem) -> (@Sendable (ConsoleAnswers) throws -> JSONValue)? {
    let (search, after) = (parameters["search"] ?? "", parameters["after"] ?? "")
    switch parts.count == 2 ? [parts[0], "*"] : parts {
    case ["users"]:
      try parameters.requireOnly("search", "after")
      return { try $0.users(search, after: after) }
    case ["devices"]:
      try parameters.requireOnly("search", "after")
      let number = try parameters.number("after", in: 0...Int.max).map { Int64($0) } ?? 0
      return { try $0.devices(search, after: number) }
    case ["devices", "*"]:
      try parameters.requireOnly("after")
      return { [id = parts[1]] in try $0.device(id, after: after) }
    case ["zones"]:
      try parameters.requireOnly("search", "after")
      return { try $0.zones(search, after: after) }
    case ["zones", "*"]:
      try parameters.requireOnly("after")
      return { [name = parts[1]] in try $0.zone(name, after: after) }
    case ["records", "*"]:
      try parameters.requireOnly("device")
      return { [id = parts[1], device = parameters["device"]] in try $0.record(id, device: device) }
    case ["conflicts"]:
      try parameters.requireOnly("after")
      return { try $0.conflicts(before: after.isEmpty ? nil : after) }
    case ["refusals"]:
      try parameters.requireOnly("after")
      let place = after.split(separator: ".").map { Int64($0) }
      guard after.isEmpty || place.count == 2, let device = after.isEmpty ? 0 : place[0],
        let first = after.isEmpty ? 0 : place[1]
      else { throw Problem(.invalidRequest, "after is the `next` of the page before.") }
      return { try $0.refusals(afterDevice: device, afterFirst: first) }
    case ["audit"]:
      try parameters.requireOnly("after")
      return { try $0.audit("", before: after.isEmpty ? nil : after) }
    case ["backups"]:
      try parameters.requireOnly("after")
      return { try $0.audit(AuditedAction.backup.rawValue, before: after.isEmpty ? nil : after) }
    case ["charts"]:
      try parameters.requireOnly("range", "node")
      guard let range = ConsoleAnswers.Range(rawValue: parameters["range"] ?? "hour") else {
        throw Problem(.invalidRequest, "range is hour, day or month.")
      }
      let node = parameters["node"] ?? console.node
      let ring = TextKey(node) == TextKey(console.node) ? console.samples : nil
      return { try $0.charts(range, of: node, ring) }
    default: return nil
    }
  }
}
