/// The directory of the databases of which the server serves one: docs/DIRECTORY.md.
public struct DirectoryConfiguration: Sendable {
  /// The PostgreSQL database with the directory's tables, in libpq's form.
  public var url: String
  /// How long a guest's session lasts after its last pass; default 7 days.
  public var guestSession = Duration.seconds(7 * 86_400)

  /// Creates a configuration.
  public init(_ url: String) { self.url = url }
}
