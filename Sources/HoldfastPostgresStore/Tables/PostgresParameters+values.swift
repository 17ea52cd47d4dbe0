package import HoldfastCore
package import HoldfastPostgres
import HoldfastService

extension PostgresParameters {
  /// Appends a value with its column's type.
  package mutating func append(_ value: Value, _ type: ColumnType) {
    switch type {
    case .integer: append(value.integer)
    case .real: append(value.real)
    case .boolean: append(value.integer.map { $0 != 0 })
    case .text, .timestamp, .json, .reference, .position: append(value.text)
    }
  }

  /// Appends the values of one column of many records.
  package mutating func append(values: some Sequence<Value>, _ type: ColumnType) {
    switch type {
    case .integer: append(array: values.lazy.map(\.integer))
    case .real: append(array: values.lazy.map(\.real))
    case .boolean: append(array: values.lazy.map { $0.integer.map { $0 != 0 } })
    case .text, .timestamp, .json, .reference, .position: append(array: values.lazy.map(\.text))
    }
  }
}
