// A team's own server: a resolver, and a rule that every record must keep.
import HoldfastCore
import HoldfastServer

// snippet.server
func serve(_ schema: SyncSchema) throws {
  var configuration = Configuration(schema: schema, database: .directory("data"))
  // Of two people who change the price at the same time, the higher one counts.
  configuration.rules.resolve("items", "price") { _, mine, theirs, _ in
    guard let one = mine.integerValue, let other = theirs.integerValue else { return theirs }
    return .integer(max(one, other))
  }
  configuration.rules.validate("items") { item in
    if item["done"] == true, item["price"] == .null {
      throw ValidationError("An item that is done has a price.")
    }
  }
  try Server.run(configuration) { print("listening on \($0.url)") }
}
// snippet.end
