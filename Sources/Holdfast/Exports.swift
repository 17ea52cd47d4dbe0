// An app that imports Holdfast has the schema, the values and the errors at hand without a second import. All that is public in both modules is
// exported, so what no app needs is `package` there; Scripts/names.txt lists the names.
@_exported public import HoldfastCore
@_exported public import HoldfastSQLite
