import Holdfast

/// How far a sync is: a bar that moves on a terminal, else lines.
struct Progress {
  private static let width = 30
  private let terminal = Terminal.error
  private var last = ""
  private var lastShown = (what: "", done: 0)

  /// Shows a state; says nothing twice.
  mutating func show(_ state: SyncState) {
    switch state {
    case .uploading(let done, let total): show("uploading", done, of: total)
    case .downloading(let done, let total): show("downloading", done, of: total)
    case .idle, .waiting, .awaitingRecovery, .offline, .signedOut: break
    }
  }

  /// Shows that of `total` things `done` are done. Lines come at most for every tenth.
  mutating func show(_ what: String, _ done: Int, of total: Int) {
    let text = "\(what) \(done) of \(total)"
    if text == last { return }
    let isNext = what != lastShown.what || done == total || abs(done - lastShown.done) >= total / 10
    if !terminal.isInteractive, !isNext { return }
    last = text
    lastShown = (what, done)
    guard terminal.isInteractive else { return terminal.write(text + "\n") }
    let filled = total > 0 ? Self.width * min(done, total) / total : 0
    let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: Self.width - filled)
    terminal.write("\r\u{1B}[K\(what.padded(to: 12)) \(terminal.paint(bar, .green)) \(done) of \(total)")
  }

  /// Takes the bar away.
  func clear() {
    if terminal.isInteractive, !last.isEmpty { terminal.write("\r\u{1B}[K") }
  }
}
