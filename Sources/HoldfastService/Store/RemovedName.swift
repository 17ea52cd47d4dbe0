/// The names of tables and columns that the schema no longer has. Their data stays until `holdfast schema prune`.
package enum RemovedName {
  package static let prefix = "holdfast_removed_"

  /// An unused replacement name for `name`, within PostgreSQL's limit of 63 bytes.
  package static func free(for name: String, among names: [String]) -> String {
    var number = 1
    while true {
      let free = "\(prefix)\(number)_\(name.prefix(40))"
      if !names.contains(free) { return free }
      number += 1
    }
  }
}
