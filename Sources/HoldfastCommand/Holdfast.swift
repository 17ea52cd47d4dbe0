import Glibc
import HoldfastSQLite

@main
struct Holdfast {
  static func main() {
    StandardDescriptors.open()
    SQLiteLibrary.disableMemoryStatistics()
    exit(Program.run(Array(CommandLine.arguments.dropFirst())))
  }
}
