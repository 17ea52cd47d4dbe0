/// The weight of a name in a list such as `Accept` or `Accept-Encoding`; nil if absent (RFC 9110, section 12.4.2). Malformed items are
/// ignored.
func acceptedWeight(of name: String, in field: String) -> Double? {
  for item in field.split(separator: ",") {
    let parts = item.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
    guard parts.first == name else { continue }
    guard let quality = parts.dropFirst().first(where: { $0.hasPrefix("q=") }) else { return 1 }
    guard let weight = Double(quality.dropFirst(2)), (0...1).contains(weight) else { continue }
    return weight
  }
  return nil
}
