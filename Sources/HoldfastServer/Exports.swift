// A program that imports HoldfastServer needs no second import for its configuration, rules and databases.
@_exported public import HoldfastPostgresStore
@_exported public import HoldfastService
