import HoldfastCore
import HoldfastSQLite

/// What a change set says of a record's columns: the values that it was based on, and those that it gives.
typealias SealedColumns = TextMap<(base: SQLiteValue, new: SQLiteValue)>
