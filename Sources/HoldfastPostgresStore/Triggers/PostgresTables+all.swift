import HoldfastCore
import HoldfastService

extension PostgresTables {
  /// The statements that make everything in an empty database, in their order; for people to read as well.
  package var all: String {
    Self.own(isDistributed: false) + schema.tables.indices.map { create($0) }.joined()
      + schema.tables.indices.map { references(of: $0) }.joined()
      + PostgresTriggers(schema: schema, relations: PostgresRelation.own(schema, namespace: namespace)).all
  }
}
