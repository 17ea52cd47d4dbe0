import Foundation
import HoldfastCore

/// The members of a JSON object as Foundation reads it; nil when it is none.
func jsonMembers(_ json: Any?) -> TextMap<Any>? {
  (json as? [String: Any]).map { TextMap($0.map { ($0.key, $0.value) }) }
}

/// What Foundation reads of a JSON text; nil when it is none.
func json(_ text: String) -> Any? { try? JSONSerialization.jsonObject(with: Data(text.utf8)) }
