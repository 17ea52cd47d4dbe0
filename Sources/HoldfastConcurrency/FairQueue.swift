/// A queue of jobs: first in, first out for each client; clients take turns.
///
/// Public, not with package access: only then does the compiler specialize it for the jobs of other modules.
public struct FairQueue<Client: Hashable, Job> {
  /// The limits of one client.
  public struct Share: Sendable {
    /// The maximum number of queued jobs.
    public let waiting: Int
    /// The maximum number of jobs running at the same time.
    public let running: Int

    /// Creates limits.
    @inlinable
    public init(waiting: Int, running: Int) { (self.waiting, self.running) = (waiting, running) }
  }

  @usableFromInline struct Line {
    @usableFromInline var jobs: [Job] = []
    @usableFromInline var running = 0

    @inlinable init(running: Int = 0) { self.running = running }

    @inlinable var isIdle: Bool { running == 0 && jobs.isEmpty }

    /// Adds a job; whether the client gets a turn.
    @inlinable
    mutating func insert(_ job: Job, atFront: Bool, _ share: Share) -> Bool {
      let getsTurn = jobs.isEmpty && running < share.running
      if atFront { jobs.insert(job, at: 0) } else { jobs.append(job) }
      return getsTurn
    }

    /// Takes the first job, and says whether the client gets another turn.
    @inlinable
    mutating func take(_ share: Share) -> (job: Job, hasMore: Bool) {
      running += 1
      let job = jobs.removeFirst()
      return (job, !jobs.isEmpty && running < share.running)
    }

    /// Records that a job has ended; whether the client gets a turn.
    @inlinable
    mutating func finish(_ share: Share) -> Bool {
      running -= 1
      return !jobs.isEmpty && running + 1 == share.running
    }
  }

  /// The number of queued jobs.
  @inlinable public var count: Int { queued }
  @usableFromInline var queued = 0
  @usableFromInline let share: Share
  @usableFromInline var lines: [Client: Line] = [:]
  /// The clients with a runnable job, each once, in the order of their turns.
  @usableFromInline var turns: [Client] = []

  /// Creates a queue with the same limits for each client.
  @inlinable
  public init(share: Share) { self.share = share }

  /// Whether a job can run now.
  @inlinable public var isReady: Bool { !turns.isEmpty }

  /// Appends a job to its client's line; false if the client is at its limit.
  @inlinable
  public mutating func append(_ job: Job, of client: Client) -> Bool {
    if let line = lines[client], line.jobs.count >= share.waiting { return false }
    insert(job, of: client)
    return true
  }

  /// Adds a job regardless of the client's limit.
  ///
  /// - Parameter atFront: whether the job goes before the client's others, and the client before other clients.
  @inlinable
  public mutating func insert(_ job: Job, of client: Client, atFront: Bool = false) {
    queued += 1
    guard lines[client, default: Line()].insert(job, atFront: atFront, share) else { return }
    if atFront { turns.insert(client, at: 0) } else { turns.append(client) }
  }

  /// Takes up to `limit` jobs, one of each client in turn. Each counts as running until `finish`.
  @inlinable
  public mutating func take(_ limit: Int) -> [(client: Client, job: Job)] {
    var taken: [(client: Client, job: Job)] = []
    while taken.count < limit, !turns.isEmpty {
      // One round: each client in it has one turn.
      let round = turns.prefix(limit - taken.count)
      turns.removeFirst(round.count)
      for client in round {
        guard let (job, hasMore) = lines[client]?.take(share) else { continue }
        taken.append((client, job))
        if hasMore { turns.append(client) }
      }
    }
    queued -= taken.count
    return taken
  }

  /// Records that a job of a client has ended.
  @inlinable
  public mutating func finish(_ client: Client) {
    guard let index = lines.index(forKey: client) else { return }
    if lines.values[index].finish(share) { turns.append(client) }
    if lines.values[index].isIdle { lines.remove(at: index) }
  }

  /// Removes and returns all queued jobs.
  @inlinable
  public mutating func removeAll() -> [Job] {
    defer {
      lines = lines.compactMapValues { $0.running == 0 ? nil : Line(running: $0.running) }
      turns = []
      queued = 0
    }
    return lines.values.flatMap(\.jobs)
  }
}
