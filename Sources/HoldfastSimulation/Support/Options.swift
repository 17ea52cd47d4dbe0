import HoldfastServer

/// The parsed command line.
struct Options {
  var seed: UInt64?
  var steps: Int?
  var keep: Set<Int>?
  var minutes: Double?
  var seeds = 1
  var every = 1
  var isVerbose = false
  var showsCoverage = false
  var runsScenarios = false
  var scenario: String?
  var postgres: String?
  var isWide = false

  /// The server's database; nil for a simulated disk.
  var location: PostgresLocation? { postgres.map { PostgresLocation($0) } }

  struct Wrong: Error, CustomStringConvertible { let description: String }

  init(_ arguments: some Sequence<String>) throws {
    var rest = Array(arguments)[...]
    func number<Number>(_ convert: (String) -> Number?, _ name: String) throws -> Number {
      guard let text = rest.popFirst(), let number = convert(text) else {
        throw Wrong(description: "\(name) takes a number.")
      }
      return number
    }
    while let name = rest.popFirst() {
      switch name {
      case "--seed": seed = try number({ UInt64($0) }, name)
      case "--steps": steps = try number({ Int($0) }, name)
      case "--keep":
        let list = rest.popFirst() ?? "-"
        keep = list == "-" ? [] : Set(list.split(separator: ",").compactMap { Int($0) })
      case "--minutes": minutes = try number({ Double($0) }, name)
      case "--seeds": seeds = try number({ Int($0) }, name)
      case "--every": every = max(1, try number({ Int($0) }, name))
      case "--postgres": postgres = try number({ $0 }, name)
      case "--wide": isWide = true
      case "--coverage": showsCoverage = true
      case "--verbose": isVerbose = true
      case "--scenarios": runsScenarios = true
      case "--scenario": (runsScenarios, scenario) = (true, try number({ $0 }, name))
      default: throw Wrong(description: "\(name) is not known.")
      }
    }
  }
}
