// An app that imports Holdfast has the schema, the values and the positions at hand without a second import.
@_exported public import HoldfastCore
@_exported public import HoldfastSQLite
