import HoldfastCore
import HoldfastService

/// The problem codes of the wire as a Markdown table. Section 10 of PROTOCOL.md is this text.
public enum ProblemTable {
  /// A Markdown table with one row per code.
  public static var markdown: String {
    let head = "| code | status | again later | what | what to do |\n| --- | --- | --- | --- | --- |"
    let lines = ProblemCode.allCases.map { code in
      "| `\(code.rawValue)` | \(code.status) | \(code.isTemporary ? "yes" : "no") | \(code.title) | \(code.remedy) |"
    }
    return ([head] + lines).joined(separator: "\n")
  }
}
