public struct Position { public init?(validating: String) {} }
