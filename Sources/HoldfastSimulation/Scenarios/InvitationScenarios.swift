import Holdfast
import HoldfastCore

/// Invitations to a list: who can join with them, and how often.
enum InvitationScenarios {
  static var all: [Scenario] {
    [
      Scenario(
        name: "The answer to an accepted invitation is lost", guards: "I1, I10", users: [0, 1, 2],
        script: { stage in
          let (list, item) = stage.makeListWithItem()
          let invitation = stage.invite(0, to: list)
          stage.fate = {
            !$0.isRequest && $0.message.request.path == "v1/invitations/accept" ? .isLost : .passes
          }
          stage.accept(1, invitation)
          stage.calm()
          let again = stage.acceptUntilAnswered(1, invitation)
          stage.expect("I1", again.answer?.status == 200, "the second time there is nothing new")
          stage.expect("I1", again.json["zone"]?.stringValue == list, "and it says the list")
          stage.settle()
          stage.expect("I1", stage.roles(of: 1, in: list) == ["editor"], "there is one membership")
          stage.expect("I10", stage.isThere("items", item, on: 1), "and the list with it")
          stage.expectInvalid(2, invitation, "is used up")
          let title = stage.edit(1, "items", item, "title")
          stage.settle()
          stage.expect("I10", stage.value("items", item, "title", on: 0) == title, "the new member writes")
          stage.expect("I10", !stage.isThere("items", item, on: 2), "and a stranger gets nothing")
        }),
      Scenario(
        name: "An invitation, at every step", guards: "I1, I6, I10", users: [0, 1],
        troubles: [.kill, .crash, .ioError, .full],
        script: { stage in
          let (list, item) = stage.makeListWithItem()
          let invitation = stage.invite(0, to: list)
          var answer = Inquiry()
          stage.interrupted("server") { answer = stage.accept(1, invitation) }
          if answer.answer.map({ $0.status >= 500 }) ?? true {
            answer = stage.acceptUntilAnswered(1, invitation)
          }
          stage.expect("I1", [200, 201].contains(answer.answer?.status), "it is accepted in the end")
          stage.settle()
          stage.expect("I1", stage.roles(of: 1, in: list) == ["editor"], "there is one membership")
          stage.expect("I10", stage.isThere("items", item, on: 1), "and the list with it")
          // It was used once: a member who leaves can't join with it again.
          for member in stage[1].view.tables.filter({
            $0.key.table == "members" && $0.value.zone == list && $0.value["role"] == .text("editor")
          }).keys { stage.delete(1, "members", member.id) }
          stage.settle()
          stage.expect("I10", !stage.isThere("items", item, on: 1), "who left has nothing of the list")
          stage.expectInvalid(1, invitation, "is used up")
        }),
      Scenario(
        name: "An invitation that is over", guards: "I6, I10", users: [0, 1],
        script: { stage in
          let (list, item) = stage.makeListWithItem()
          let (revoked, short) = (stage.invite(0, to: list), stage.invite(0, to: list, seconds: 60))
          stage.interrupted("server") {
            stage.ask(0, "DELETE", "v1/zones/\(list)/invitations/\(revoked.id)")
          }
          // Whatever happened to the server: the owner sees whether it exists.
          stage.ask(0, "DELETE", "v1/zones/\(list)/invitations/\(revoked.id)")
          stage.expectInvalid(1, revoked, "was revoked")
          stage.pass(61_000)
          stage.expectInvalid(1, short, "has expired")
          let last = stage.invite(0, to: list)
          stage.delete(0, "lists", list)
          stage.settle()
          stage.expectInvalid(1, last, "is to a list that is gone")
          stage.settle()
          stage.expect("I10", !stage.isThere("items", item, on: 1), "nobody got in")
        }),
      Scenario(
        name: "A member accepts an invitation", guards: "I1, I10", users: [0, 1, 2],
        script: { stage in
          let (list, item) = stage.makeListWithItem()
          stage.share(0, list, with: "user1", role: "viewer")
          stage.settle()
          let lesser = stage.invite(0, to: list, role: "viewer")
          let more = stage.invite(0, to: list, role: "editor")
          stage.expect("I1", stage.accept(1, lesser).answer?.status == 200, "a member is told so")
          stage.expect("I10", stage.accept(2, lesser).answer?.status == 201, "and it is not used up by that")
          stage.interrupted("server") { stage.accept(1, more) }
          let answer = stage.acceptUntilAnswered(1, more)
          stage.expect("I1", answer.answer?.status == 200, "a greater role is given once")
          stage.settle()
          stage.expect("I1", stage.roles(of: 1, in: list) == ["editor"], "there is one membership")
          let title = stage.edit(1, "items", item, "title")
          stage.settle()
          stage.expect("I10", stage.value("items", item, "title", on: 2) == title, "the role counts")
          stage.expectInvalid(2, more, "is used up")
        }),
      Scenario(
        name: "The inviter is no owner any more", guards: "I10", users: [0, 1, 2],
        script: { stage in
          let (list, item) = stage.makeListWithItem()
          let second = stage.share(0, list, with: "user1", role: "owner")
          stage.settle()
          let invitation = stage.invite(1, to: list, role: "owner", uses: 2)
          stage.set(0, "members", second, "role", .text("viewer"))
          stage.settle()
          stage.expectInvalid(2, invitation, "was made by who is no owner any more")
          stage.expect("I10", !stage.isThere("items", item, on: 2), "nobody got in")
          stage.set(0, "members", second, "role", .text("owner"))
          stage.settle()
          stage.expect("I10", stage.accept(2, invitation).answer?.status == 201, "an owner's word counts")
          stage.settle()
          stage.expect("I10", stage.isThere("items", item, on: 2), "the list came")
        }),
      Scenario(
        name: "Two race for the last use of an invitation", guards: "I1, I10", users: [0, 1, 2],
        script: { stage in
          let (list, item) = stage.makeListWithItem()
          let invitation = stage.invite(0, to: list)
          let body: JSONValue = ["token": .string(invitation.token)]
          stage.fate = { $0.isRequest && !$0.isSync ? .isHeld : .passes }
          let both = [1, 2].map { stage.begin($0, "POST", "v1/invitations/accept", body) }
          stage.pass(100)
          stage.calm()
          stage.interrupted("server") {
            stage.release()
            stage.pass(500)
          }
          let answers = [1, 2].map { stage.acceptUntilAnswered($0, invitation).answer?.status }
          stage.expect("I1", answers.filter { $0 == 200 || $0 == 201 }.count == 1, "one got in")
          stage.expect("I10", answers.filter { $0 == 404 }.count == 1, "and the other did not")
          stage.expect("I1", both.filter { $0.answer?.status == 201 }.count <= 1, "nor was told so")
          stage.settle()
          let isIn = [1, 2].map { stage.isThere("items", item, on: $0) }
          stage.expect("I10", isIn == answers.map { $0 != 404 }, "and the list went to that one")
        }),
    ]
  }
}
