@main struct Holdfast { static func main() {} }
