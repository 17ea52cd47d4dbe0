import Testing

/// Starts the tests. Without it, SwiftPM would look for those of XCTest, for which each module compiled writes an index.
@main struct Tests {
  static func main() async { await Testing.__swiftPMEntryPoint() as Never }
}
