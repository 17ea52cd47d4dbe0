import Foundation
import HoldfastCore
import HoldfastServer

// The options that say where backups are.

extension CommandForm.Option {
  /// The address of an S3-compatible store.
  static let s3Endpoint = CommandForm.Option(
    name: "s3-endpoint", value: "URL", help: "The address of the store; Amazon's of the region unless given")
}

extension Options {
  /// The store that `--folder` or `--to` names.
  var backupStore: any BackupStore {
    get throws(UsageError) {
      switch (self["folder"], self["to"]) {
      case (let folder?, nil): return BackupFolder(folder)
      case (nil, let place?): return try s3Backups(S3Place(place))
      default: throw UsageError("Say one of --folder and --to.")
      }
    }
  }

  /// Lends the file of a backup, which may be in a bucket.
  func withFile<Result>(_ path: String, _ body: (String) throws -> Result) throws -> Result {
    guard path.hasPrefix(S3Place.scheme) else { return try body(path) }
    let (place, name) = try S3Place.split(path)
    return try s3Backups(place).get(name, body)
  }

  private func s3Backups(_ place: S3Place) throws(UsageError) -> S3Backups {
    let variables = TextMap(ProcessInfo.processInfo.environment.map { ($0.key, $0.value) })
    return S3Backups(place, S3Requests(try S3Access(endpoint: self["s3-endpoint"], variables)))
  }
}
