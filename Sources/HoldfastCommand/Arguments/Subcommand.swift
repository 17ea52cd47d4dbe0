/// A subcommand of `holdfast`.
protocol Subcommand {
  /// Its name, options and help.
  static var form: CommandForm { get }
  /// Runs it and gives the exit status.
  static func run(_ options: Options) throws -> Int32
}
