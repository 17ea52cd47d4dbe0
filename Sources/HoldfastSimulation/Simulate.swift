/// `simulate`: the whole system in one process, decided by one seed.
@main
enum Simulate {
  static func main() {}
}
