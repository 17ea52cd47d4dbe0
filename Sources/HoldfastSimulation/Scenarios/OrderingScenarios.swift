import Holdfast
import HoldfastCore
import HoldfastSQLite

/// Ordered lists that several people arrange.
enum OrderingScenarios {
  static var all: [Scenario] {
    [
      Scenario(
        name: "Ordering drift", guards: "I7", users: [0, 0, 0],
        script: { stage in
          let list = stage.makeList(0)
          let ends = [stage.makeItem(0, in: list), stage.makeItem(0, in: list)]
          stage.settle()
          stage.goOffline(0, 1, 2)
          // Each concurrently inserts a run at the same place.
          let runs = (0..<3).map { device in stage.insert(6, after: ends[0], in: list, on: device) }
          stage.settle()
          let order = stage.order(of: list)
          for device in 0..<3 {
            stage.expect(
              "I7", stage.order(of: list, on: device) == order, "device \(device) has the server's order")
          }
          stage.expect("I7", order.first == ends[0] && order.last == ends[1], "the ends are still the ends")
          for run in runs {
            let place = order.firstIndex(of: run[0]) ?? 0
            stage.expect("I7", Array(order.dropFirst(place).prefix(6)) == run, "no run is torn by another")
          }
        }),
      Scenario(
        name: "Ordering drift, positions that grow", guards: "I7",
        script: { stage in
          let list = stage.makeList(0)
          let ends = [stage.makeItem(0, in: list), stage.makeItem(0, in: list)]
          for turn in 0..<12 {
            stage.insert(10, after: ends[0], in: list, on: turn % 2)
            stage.settle()
          }
          let longest = stage.server.tables.compactMap { $0.value["position"]?.string?.utf8.count }.max() ?? 0
          stage.expect(
            "I7", longest <= 64, "120 inserts at one place keep positions short; the longest has \(longest)")
          stage.expect(
            "I7", stage.order(of: list, on: 1) == stage.order(of: list), "the order is the server's")
        }),
      Scenario(
        name: "Insert, delete and reorder in one offline stretch", guards: "I6, I7",
        script: { stage in
          let list = stage.makeList(0)
          let items = (0..<4).map { _ in stage.makeItem(0, in: list) }
          stage.settle()
          stage.goOffline(0, 1)
          let new = stage.insert(2, after: items[0], in: list, on: 0)
          stage.delete(0, "items", items[1])
          stage.move(items[3], after: nil, in: list, on: 0)
          stage.move(new[0], after: items[2], in: list, on: 0)
          stage.move(items[3], after: items[0], in: list, on: 0)
          let wanted = [items[0], items[3], new[1], items[2], new[0]]
          stage.expect("I7", stage.order(of: list, on: 0) == wanted, "the list is as it was arranged")
          let foreign = stage.insert(1, after: items[3], in: list, on: 1)
          stage.pass(100_000)
          stage.goOnline(0)
          stage.interrupted("device0", "server") { stage.sync(0) }
          stage.settle()
          let order = stage.order(of: list)
          stage.expect(
            "I7", order.filter { $0 != foreign[0] } == wanted,
            "the order is that of before the sync: \(order)")
          stage.expect(
            "I7", stage.order(of: list, on: 1) == order && stage.order(of: list, on: 0) == order,
            "it is the same everywhere")
        }),
    ]
  }
}
