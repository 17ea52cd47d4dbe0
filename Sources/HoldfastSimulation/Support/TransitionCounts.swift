import Foundation
import HoldfastCore

/// How often each transition of the protocol was taken, by this process and by the branches of its runs: they share the memory.
struct TransitionCounts {
  private let counts: UnsafeMutableBufferPointer<Int>
  private let places = Dictionary(uniqueKeysWithValues: Transition.allCases.enumerated().map { ($1, $0) })

  init() {
    let size = Transition.allCases.count * MemoryLayout<Int>.stride
    let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)
    guard let memory, memory != MAP_FAILED else { fatalError("No memory is left.") }
    counts = UnsafeMutableBufferPointer(
      start: memory.assumingMemoryBound(to: Int.self), count: Transition.allCases.count)
  }

  func count(_ transition: Transition) {
    if let place = places[transition] { counts[place] += 1 }
  }

  /// Says the counts, rarest first.
  func report() {
    let all = zip(counts, Transition.allCases).map { ($0, $1.rawValue) }.sorted { $0 < $1 }
    for (count, name) in all { say("\(count == 0 ? "never" : String(count))\t\(name)") }
    say("\(all.count { $0.0 > 0 }) of \(all.count) transitions taken")
  }
}
