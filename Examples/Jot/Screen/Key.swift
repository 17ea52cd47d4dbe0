/// What a person typed.
enum Key: Hashable, Sendable {
  /// A scalar and not a `Character`: a combining mark arrives after its base, and belongs to it only in the text.
  case scalar(Unicode.Scalar)
  case control(Unicode.Scalar)
  /// A text that the terminal says was pasted.
  case paste(String)
  case enter, escape, tab, backspace, delete
  case up, down, left, right, home, end, pageUp, pageDown
  case shiftUp, shiftDown, shiftTab
}
