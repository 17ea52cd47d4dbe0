import Glibc

@main
struct Holdfast {
  static func main() {
    exit(Program.run(Array(CommandLine.arguments.dropFirst())))
  }
}
