import Foundation
import HoldfastCore

/// The members of a JSON object parsed by Foundation; nil if it is none.
func jsonMembers(_ json: Any?) -> TextMap<Any>? {
  (json as? [String: Any]).map { TextMap($0.map { ($0.key, $0.value) }) }
}

/// Parses a JSON text with Foundation; nil if it is invalid.
func json(_ text: String) -> Any? { try? JSONSerialization.jsonObject(with: Data(text.utf8)) }
