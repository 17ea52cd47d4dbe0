import HoldfastHTTP
import HoldfastService

/// Whose work it is, for taking turns.
enum Client: Hashable, Sendable {
  /// Of a user, by id.
  case user(String)
  /// Of a token that nobody has looked up yet.
  case token(TokenHash)
  /// Of somebody who is known by the address alone.
  case address(String)
  /// The server's own.
  case server

  /// The user's id, if it is known.
  var user: String? { if case .user(let id) = self { id } else { nil } }

  /// The same, but of an address the network around it, as somebody has many addresses at no cost.
  var site: Client {
    guard case .address(let text) = self, let address = IPAddress(text) else { return self }
    return .address(address.site)
  }
}

/// Jobs that wait, in the order of arrival for each client, with clients taking turns.
struct FairQueue<Job> {
  /// How much of the queue one client may have.
  struct Share: Sendable {
    /// How many jobs may wait.
    let waiting: Int
    /// How many jobs may be under way at the same time.
    let running: Int
  }

  private struct Line {
    var jobs: [Job] = []
    var running = 0
  }

  /// How many jobs wait.
  private(set) var count = 0
  private let share: Share
  private var lines: [Client: Line] = [:]
  /// Clients with a job that may be taken, each once, the next first.
  private var turns: [Client] = []

  /// A queue of which each client has at most a share.
  init(share: Share) { self.share = share }

  /// Whether there is a job that may be taken now.
  var isReady: Bool { !turns.isEmpty }

  /// Adds a job at the end of its client's line; false when the client has too many.
  mutating func append(_ job: Job, of client: Client) -> Bool {
    if lines[client, default: Line()].jobs.count >= share.waiting { return false }
    insert(job, of: client)
    return true
  }

  /// Adds a job, however many the client has.
  ///
  /// - Parameter atFront: whether it comes before the client's others, and the client before others.
  mutating func insert(_ job: Job, of client: Client, atFront: Bool = false) {
    var line = lines.removeValue(forKey: client) ?? Line()
    if line.jobs.isEmpty, line.running < share.running {
      turns.insert(client, at: atFront ? 0 : turns.count)
    }
    line.jobs.insert(job, at: atFront ? 0 : line.jobs.count)
    lines[client] = line
    count += 1
  }

  /// Takes jobs, one of each client in turn, until there are `limit` or none is left. Each is under way until `finish`.
  mutating func take(_ limit: Int) -> [(client: Client, job: Job)] {
    var taken: [(client: Client, job: Job)] = []
    while taken.count < limit, !turns.isEmpty {
      // A round at a time: what comes after it is of clients that have had their turn.
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

  /// A job of a client has ended.
  mutating func finish(_ client: Client) {
    guard var line = lines[client] else { return }
    if !line.jobs.isEmpty, line.running == share.running { turns.append(client) }
    line.running -= 1
    lines[client] = line.running == 0 && line.jobs.isEmpty ? nil : line
  }

  /// Takes all that wait, whoever's turn it is.
  mutating func removeAll() -> [Job] {
    defer {
      lines = lines.compactMapValues { $0.running == 0 ? nil : Line(running: $0.running) }
      turns = []
      count = 0
    }
    return lines.values.flatMap(\.jobs)
  }
}
