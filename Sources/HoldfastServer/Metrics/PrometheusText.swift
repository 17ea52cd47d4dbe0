/// A text in Prometheus' exposition format, version 0.0.4.
///
/// Source: Prometheus, "Exposition formats", section Text-based format.
struct PrometheusText {
  /// The media type of the text.
  static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

  typealias Label = (name: String, value: String)

  private(set) var text = ""

  /// Writes a counter or gauge with its samples.
  ///
  /// - Parameters:
  ///   - type: `counter` or `gauge`.
  ///   - samples: each label combination with its value.
  mutating func add(
    _ name: String, _ type: String, _ help: String, _ samples: [(labels: [Label], value: Double)]
  ) {
    head(name, type, help)
    for (labels, value) in samples { sample(name, labels, value) }
  }

  /// Writes a histogram with its samples.
  mutating func add(_ name: String, _ help: String, _ samples: [(labels: [Label], value: Histogram)]) {
    head(name, "histogram", help)
    for (labels, histogram) in samples {
      var sum = 0
      for (bound, count) in zip(histogram.bounds, histogram.counts) {
        sum += count
        sample("\(name)_bucket", labels + [("le", Self.number(bound))], Double(sum))
      }
      sample("\(name)_bucket", labels + [("le", "+Inf")], Double(histogram.count))
      sample("\(name)_sum", labels, histogram.sum)
      sample("\(name)_count", labels, Double(histogram.count))
    }
  }

  private mutating func head(_ name: String, _ type: String, _ help: String) {
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
  }

  private mutating func sample(_ name: String, _ labels: [Label], _ value: Double) {
    text += name
    if !labels.isEmpty {
      text += "{\(labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }.joined(separator: ","))}"
    }
    text += " \(Self.number(value))\n"
  }

  private static func number(_ value: Double) -> String {
    value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value)
  }

  private static func escaped(_ value: String) -> String {
    var text = ""
    for character in value.unicodeScalars {
      switch character {
      case "\\": text += "\\\\"
      case "\"": text += "\\\""
      case "\n": text += "\\n"
      default: text.unicodeScalars.append(character)
      }
    }
    return text
  }
}
