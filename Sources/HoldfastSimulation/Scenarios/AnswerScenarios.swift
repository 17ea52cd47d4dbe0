import Holdfast
import HoldfastCore

/// Wrong answers.
enum AnswerScenarios {
  static var all: [Scenario] {
    [
      foreignAnswers(
        "Empty answer read as all deleted",
        [
          "", " ", "null", "0", "\"\"", "[]", "[{}]", "<html>Welcome to our network</html>", "{",
          "{\"zones\":1}",
        ]),
      foreignAnswers(
        "A foreign answer read as the server's",
        [
          "{}", "{\"ok\":true}", "{\"zones\":[],\"lost\":[]}",
          "{\"clock\":\"0000000000000000\",\"confirmed\":0}",
        ]),
      Scenario(
        name: "A server that lists nothing", guards: "I3",
        script: { stage in
          let list = stage.makeList(0)
          let item = stage.makeItem(0, in: list)
          stage.settle()
          stage.goOffline(0)
          stage.edit(1, "items", item, "title")
          stage.sync(1)
          stage.goOnline(0)
          let before = stage[0].view.tables
          // The answer is valid except for its zones, which are empty.
          stage.fate = { passing in
            guard case .answer(let message, let answer) = passing, message.device.number == 0, passing.isSync,
              case .object(var members) = passing.json,
              let place = members.firstIndex(where: { $0.name == "zones" })
            else { return .passes }
            members[place].value = .array([])
            return .becomes(TransportAnswer(status: answer.status, body: JSONValue.object(members).bytes))
          }
          stage.sync(0)
          stage.expect("I3", stage[0].view.tables == before, "nothing is deleted")
          stage.settle()
          stage.expect("I7", stage.isThere("items", item, on: 0), "the item is still there")
        }),
      Scenario(
        name: "Server's answer cut at any byte", guards: "I2, I6",
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          stage.goOffline(0, 1)
          stage.makePairs(0, in: list, count: 3)
          stage.goOnline(0)
          stage.sync(0)
          stage.goOffline(0)
          let item = stage.makeItem(1, in: list)
          stage.pass(100_000)
          stage.goOnline(1)
          let (tables, outbox) = (stage[1].view.tables, stage[1].view.outbox)
          var (length, cut) = (1, 0)
          while cut < length {
            stage.fate = {
              guard case .answer(_, let answer) = $0, $0.isSync else { return .passes }
              length = answer.body.count
              return .becomes(TransportAnswer(status: 200, body: Array(answer.body.prefix(cut))))
            }
            let isDone = stage.sync(1)
            stage.expect("I6", !isDone, "an answer of \(cut) of \(length) bytes is none")
            stage.expect(
              "I6", stage[1].view.tables == tables && stage[1].view.outbox == outbox,
              "an answer of \(cut) of \(length) bytes changes nothing")
            cut += 1
          }
          stage.settle()
          stage.expectOnce([("items", item)])
        }),
      Scenario(
        name: "A request cut at any byte", guards: "I1, I6",
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          stage.goOffline(0, 1)
          let item = stage.makeItem(0, in: list)
          stage.goOnline(0)
          let before = stage.server.tables
          var (length, cut) = (1, 0)
          while cut < length {
            stage.fate = { passing in
              guard case .request(let message) = passing, passing.isSync else { return .passes }
              length = passing.body.count
              stage.arrive(message, body: Array(passing.body.prefix(cut)))
              return .isLost
            }
            stage.sync(0)
            stage.expect("I6", stage.server.tables == before, "\(cut) of \(length) bytes have no effect")
            cut += 1
          }
          stage.settle()
          stage.expectOnce([("items", item)])
        }),
    ]
  }

  /// A status 200 from a proxy, a hotel's network or a broken server is no valid answer.
  private static func foreignAnswers(_ name: String, _ bodies: [String]) -> Scenario {
    Scenario(
      name: name, guards: "I3",
      script: { stage in
        let list = stage.makeList(0)
        let item = stage.makeItem(0, in: list)
        stage.settle()
        stage.goOffline(1)
        let title = stage.edit(0, "items", item, "title")
        stage.goOffline(0)
        stage.pass(100_000)
        let (tables, outbox) = (stage[0].view.tables, stage[0].view.outbox)
        stage.goOnline(0)
        for body in bodies {
          stage.requests(of: 0, .becomes(TransportAnswer(status: 200, body: Array(body.utf8))))
          stage.expect("I3", !stage.sync(0), "a 200 that says \(body) is no answer")
          stage.expect("I3", stage[0].view.tables == tables, "nothing changes on the device")
          stage.expect("I3", stage[0].view.outbox == outbox, "nor in its outbox")
        }
        stage.settle()
        stage.expect("I3", stage.value("items", item, "title") == title, "the edit arrived")
        stage.expectNoRefusal()
      })
  }
}
