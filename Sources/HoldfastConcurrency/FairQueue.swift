/// A queue of jobs: first in, first out for each client; clients take turns.
package struct FairQueue<Client: Hashable, Job> {
  /// The limits of one client.
  package struct Share: Sendable {
    /// The maximum number of queued jobs.
    package let waiting: Int
    /// The maximum number of jobs running at the same time.
    package let running: Int

    /// Creates limits.
    @inlinable
    package init(waiting: Int, running: Int) { (self.waiting, self.running) = (waiting, running) }
  }

  @usableFromInline struct Line {
    @usableFromInline var jobs: [Job] = []
    @usableFromInline var running = 0

    @inlinable init(running: Int = 0) { self.running = running }
  }

  /// The number of queued jobs.
  @usableFromInline package internal(set) var count = 0
  @usableFromInline let share: Share
  @usableFromInline var lines: [Client: Line] = [:]
  /// The clients with a runnable job, each once, in the order of their turns.
  @usableFromInline var turns: [Client] = []

  /// Creates a queue with the same limits for each client.
  @inlinable
  package init(share: Share) { self.share = share }

  /// Whether a job can run now.
  @inlinable package var isReady: Bool { !turns.isEmpty }

  /// Appends a job to its client's line; false if the client is at its limit.
  @inlinable
  package mutating func append(_ job: Job, of client: Client) -> Bool {
    if lines[client, default: Line()].jobs.count >= share.waiting { return false }
    insert(job, of: client)
    return true
  }

  /// Adds a job regardless of the client's limit.
  ///
  /// - Parameter atFront: whether the job goes before the client's others, and the client before other clients.
  @inlinable
  package mutating func insert(_ job: Job, of client: Client, atFront: Bool = false) {
    var line = lines.removeValue(forKey: client) ?? Line()
    if line.jobs.isEmpty, line.running < share.running {
      turns.insert(client, at: atFront ? 0 : turns.count)
    }
    line.jobs.insert(job, at: atFront ? 0 : line.jobs.count)
    lines[client] = line
    count += 1
  }

  /// Takes up to `limit` jobs, one of each client in turn. Each counts as running until `finish`.
  @inlinable
  package mutating func take(_ limit: Int) -> [(client: Client, job: Job)] {
    var taken: [(client: Client, job: Job)] = []
    while taken.count < limit, !turns.isEmpty {
      // One round: each client in it has one turn.
      let round = turns.prefix(limit - taken.count)
      turns.removeFirst(round.count)
      for client in round {
        guard var line = lines.removeValue(forKey: client) else { continue }
        taken.append((client, line.jobs.removeFirst()))
        line.running += 1
        if !line.jobs.isEmpty, line.running < share.running { turns.append(client) }
        lines[client] = line
      }
    }
    count -= taken.count
    return taken
  }

  /// Records that a job of a client has ended.
  @inlinable
  package mutating func finish(_ client: Client) {
    guard var line = lines[client] else { return }
    if !line.jobs.isEmpty, line.running == share.running { turns.append(client) }
    line.running -= 1
    lines[client] = line.running == 0 && line.jobs.isEmpty ? nil : line
  }

  /// Removes and returns all queued jobs.
  @inlinable
  package mutating func removeAll() -> [Job] {
    defer {
      lines = lines.compactMapValues { $0.running == 0 ? nil : Line(running: $0.running) }
      turns = []
      count = 0
    }
    return lines.values.flatMap(\.jobs)
  }
}
