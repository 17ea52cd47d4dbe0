// A test that imports HoldfastTesting has the client, and the rules of a server, at hand without a second import.
@_exported public import Holdfast
@_exported public import HoldfastService
