import HoldfastCore
import HoldfastService

extension PostgresTables {
  /// The statements that create everything in an empty database, in order. Also for people to read.
  package var all: String {
    Self.own + schema.tables.indices.map { create($0) }.joined()
      + schema.tables.indices.flatMap { references(of: $0) }.map { $0 + ";\n" }.joined()
      + PostgresTriggers(schema: schema, relations: PostgresRelation.own(schema, namespace: namespace)).all
  }
}
