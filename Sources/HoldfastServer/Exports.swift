// A program that imports HoldfastServer has its configuration, its rules and its databases at hand without a second import.
@_exported public import HoldfastPostgresStore
@_exported public import HoldfastService
