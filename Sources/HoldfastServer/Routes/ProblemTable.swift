import HoldfastCore
import HoldfastService

/// The problems of the wire as a table for people; section 10 of PROTOCOL.md is this text.
public enum ProblemTable {
  /// A Markdown table with a line for each code.
  public static var markdown: String {
    let head = "| code | status | again later | what | what to do |\n| --- | --- | --- | --- | --- |"
    let lines = ProblemCode.allCases.map { code in
      "| `\(code.rawValue)` | \(code.status) | \(code.isTemporary ? "yes" : "no") | \(code.title) | \(code.remedy) |"
    }
    return ([head] + lines).joined(separator: "\n")
  }
}
