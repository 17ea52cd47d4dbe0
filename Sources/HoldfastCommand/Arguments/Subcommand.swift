/// A subcommand of `holdfast`.
protocol Subcommand {
  /// The name, options and help.
  static var form: CommandForm { get }
  /// Runs the subcommand and returns the exit status.
  static func run(_ options: Options) throws -> Int32
}
