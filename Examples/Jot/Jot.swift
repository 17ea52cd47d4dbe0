@main struct Jot { static func main() {} }
