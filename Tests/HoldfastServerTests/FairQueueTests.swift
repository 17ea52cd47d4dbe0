import HoldfastConcurrency
import Testing

@testable import HoldfastServer

/// Who waits for whom: no client keeps the others waiting, however much it asks for.
@Suite("Taking turns") struct FairQueueTests {
  private let ann = Client.user("ann")
  private let bob = Client.user("bob")

  private func jobs(_ queue: inout FairQueue<Client, String>, _ limit: Int) -> [String] {
    queue.take(limit).map(\.job)
  }

  private func add(_ job: String, of client: Client, to queue: inout FairQueue<Client, String>) -> Bool {
    queue.append(job, of: client)
  }

  private func fill(_ queue: inout FairQueue<Client, String>, _ count: Int) {
    for number in 1...count { _ = queue.append("ann \(number)", of: ann) }
  }

  @Test("a client with much to do waits for a turn behind each of the others")
  func turns() {
    var queue = FairQueue<Client, String>(share: .init(waiting: 100, running: .max))
    fill(&queue, 3)
    #expect(add("bob 1", of: bob, to: &queue))
    #expect(jobs(&queue, 2) == ["ann 1", "bob 1"])
    #expect(add("bob 2", of: bob, to: &queue))
    #expect(jobs(&queue, 10) == ["ann 2", "bob 2", "ann 3"])
    #expect(queue.count == 0 && !queue.isReady)
  }

  @Test(
    "addresses of one network, of which somebody has many at no cost, are one client for passwords",
    arguments: [
      ("192.0.2.7", "192.0.2.200", "192.0.3.7"), ("2001:db8:1::7", "2001:db8:1:ffff::1", "2001:db8:2::7"),
    ])
  func sites(one: String, same: String, other: String) {
    #expect(Client.at(one).site == Client.at(same).site)
    #expect(Client.at(one).site != Client.at(other).site)
    #expect(Client.at("no address").site == .network("no address"))
    #expect(ann.site == ann)
  }

  @Test("a client that fills its share is refused, and others are not")
  func share() {
    var queue = FairQueue<Client, String>(share: .init(waiting: 2, running: .max))
    #expect(add("1", of: ann, to: &queue))
    #expect(add("2", of: ann, to: &queue))
    #expect(!add("3", of: ann, to: &queue))
    #expect(add("1", of: bob, to: &queue))
    #expect(queue.count == 3)
  }

  @Test("a client has no more under way than its share, and goes on when one has ended")
  func running() {
    var queue = FairQueue<Client, String>(share: .init(waiting: 10, running: 1))
    fill(&queue, 2)
    #expect(add("bob", of: bob, to: &queue))
    #expect(jobs(&queue, 10) == ["ann 1", "bob"])
    #expect(!queue.isReady && queue.count == 1)
    queue.finish(bob)
    #expect(!queue.isReady)
    queue.finish(ann)
    #expect(jobs(&queue, 10) == ["ann 2"])
  }

  @Test("what there was no time for comes first, in its order")
  func givenBack() {
    var queue = FairQueue<Client, String>(share: .init(waiting: 10, running: .max))
    fill(&queue, 3)
    #expect(add("bob 1", of: bob, to: &queue))
    let taken = queue.take(10)
    #expect(taken.map(\.job) == ["ann 1", "bob 1", "ann 2", "ann 3"])
    #expect(add("carl", of: .at("127.0.0.1"), to: &queue))
    for (client, job) in taken.suffix(3).reversed() { queue.insert(job, of: client, atFront: true) }
    for (client, _) in taken { queue.finish(client) }
    #expect(jobs(&queue, 10) == ["bob 1", "ann 2", "carl", "ann 3"])
  }

  @Test("all is taken out at the end, also of clients with much under way")
  func end() {
    var queue = FairQueue<Client, String>(share: .init(waiting: 10, running: 1))
    fill(&queue, 2)
    #expect(jobs(&queue, 10) == ["ann 1"])
    #expect(queue.removeAll() == ["ann 2"])
    queue.finish(ann)
    #expect(add("ann 3", of: ann, to: &queue))
    #expect(jobs(&queue, 10) == ["ann 3"])
  }
}
