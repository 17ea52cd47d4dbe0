/// The names under which the data of tables and columns is kept that the schema has no longer, until `holdfast schema prune`.
package enum RemovedName {
  package static let prefix = "holdfast_removed_"

  /// A name for what was called `name`, that none of `names` is. It is at most as long as PostgreSQL takes.
  package static func free(for name: String, among names: [String]) -> String {
    var number = 1
    while true {
      let free = "\(prefix)\(number)_\(name.prefix(40))"
      if !names.contains(free) { return free }
      number += 1
    }
  }
}
