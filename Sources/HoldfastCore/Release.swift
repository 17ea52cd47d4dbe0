/// The release that this source code is.
package enum Release {
  /// The version, by <https://semver.org>: that of the latest section in CHANGELOG.md.
  package static let version = "0.1.0"
}
