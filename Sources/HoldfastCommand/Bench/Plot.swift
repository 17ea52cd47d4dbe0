import Foundation

/// A line plot as SVG: sizes on a logarithmic axis, microseconds above them.
struct Plot {
  struct Line {
    let name: String
    var points: [(size: Int, microseconds: Double)] = []
  }

  let title: String
  /// What the sizes count.
  let axis: String
  let lines: [Line]

  private static let (width, height, left, top, right, bottom) = (640.0, 320.0, 70.0, 40.0, 20.0, 50.0)
  private static let colors = ["royalblue", "chocolate"]

  var svg: String {
    let sizes = lines.flatMap { $0.points.map(\.size) }
    let most = Self.rounded(lines.flatMap { $0.points.map(\.microseconds) }.max() ?? 1)
    let (first, last) = (log10(Double(sizes.min() ?? 1)), log10(Double(sizes.max() ?? 10)))
    func x(_ size: Int) -> Double {
      Self.left + (log10(Double(size)) - first) / max(last - first, 1e-9)
        * (Self.width - Self.left - Self.right)
    }
    func y(_ value: Double) -> Double {
      Self.height - Self.bottom - value / most * (Self.height - Self.top - Self.bottom)
    }
    var parts = [
      #"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \#(Self.text(Self.width)) \#(Self.text(Self.height))" font-family="sans-serif" font-size="12">"#,
      #"<rect width="100%" height="100%" fill="white"/>"#,
      #"<text x="\#(Self.text(Self.left))" y="20" font-size="14">\#(title)</text>"#,
      #"<text x="\#(Self.text(Self.width - Self.right))" y="\#(Self.text(Self.height - 10))" text-anchor="end">\#(axis)</text>"#,
    ]
    for step in 0...4 {
      let value = most * Double(step) / 4
      parts.append(
        #"<path d="M\#(Self.text(Self.left)) \#(Self.text(y(value)))H\#(Self.text(Self.width - Self.right))" stroke="lightgray"/>"#
      )
      parts.append(
        #"<text x="\#(Self.text(Self.left - 6))" y="\#(Self.text(y(value) + 4))" text-anchor="end">\#(Self.text(value)) µs</text>"#
      )
    }
    for size in Set(sizes).sorted() {
      parts.append(
        #"<text x="\#(Self.text(x(size)))" y="\#(Self.text(Self.height - Self.bottom + 18))" text-anchor="middle">\#(size)</text>"#
      )
    }
    for (line, color) in zip(lines, Self.colors) {
      let path = line.points.map { "\(Self.text(x($0.size))),\(Self.text(y($0.microseconds)))" }
      parts.append(
        #"<polyline points="\#(path.joined(separator: " "))" fill="none" stroke="\#(color)" stroke-width="2"/>"#
      )
      for point in path {
        let place = point.split(separator: ",")
        parts.append(#"<circle cx="\#(place[0])" cy="\#(place[1])" r="3" fill="\#(color)"/>"#)
      }
      if let end = line.points.last {
        parts.append(
          #"<text x="\#(Self.text(Self.width - Self.right))" y="\#(Self.text(y(end.microseconds) - 8))" text-anchor="end" fill="\#(color)">\#(line.name)</text>"#
        )
      }
    }
    return (parts + ["</svg>\n"]).joined(separator: "\n")
  }

  /// The next greater of 1, 2 and 4 times a power of ten.
  private static func rounded(_ value: Double) -> Double {
    let power = pow(10, floor(log10(max(value, 1))))
    return ([1, 2, 4, 10].first { $0 * power >= value } ?? 10) * power
  }

  private static func text(_ value: Double) -> String {
    value == value.rounded() ? String(Int(value)) : String(format: "%.1f", value)
  }
}
