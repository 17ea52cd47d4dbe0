import HoldfastCore

/// Access to zones, and its changes.
enum AccessScenarios {
  static var all: [Scenario] {
    [
      Scenario(
        name: "Revocation with unsent edits", guards: "I3, I10", users: [0, 1],
        takes: [.zoneLost, .recordUnknown],
        script: { stage in
          let list = stage.makeList(0)
          let item = stage.makeItem(0, in: list)
          let member = stage.share(0, list, with: "user1")
          stage.settle()
          stage.goOffline(1)
          let title = stage.edit(1, "items", item, "title")
          let new = stage.makeItem(1, in: list)
          let text = stage.value("items", new, "title", on: 1) ?? ""
          let note = stage.makeNote(1)
          stage.delete(0, "members", member)
          stage.sync(0)
          stage.pass(100_000)
          stage.goOnline(1)
          stage.interrupted("device1", "server") { stage.sync(1) }
          stage.settle()
          stage.expect(
            "I3", stage.isQuarantined(title, on: 1) && stage.isQuarantined(text, on: 1),
            "the edits wait in quarantine")
          stage.expect("I12", stage.isThere("notes", note), "what has nothing to do with it arrived")
          stage.expect(
            "I10", !stage[1].view.tables.values.contains { $0.zone == list },
            "nothing of the zone is left there")
          // No loop: with nothing to send there is one request.
          let syncs = stage.world.syncs
          stage.sync(1)
          stage.expect("I3", stage.world.syncs == syncs + 1, "the app does not ask again and again")
        }),
      Scenario(
        name: "Revoked rows stay on the device", guards: "I10", users: [0, 1], answerSize: 600,
        takes: [.zoneLost],
        script: { stage in
          let list = stage.makeList(0)
          let items = (0..<6).map { _ in stage.makeItem(0, in: list) }
          for item in items { stage.makePart(0, of: item) }
          let member = stage.share(0, list, with: "user1")
          stage.settle()
          stage.expect("I10", stage.isThere("items", items[0], on: 1), "the member had them")
          stage.delete(0, "members", member)
          stage.sync(0)
          // At its next contact, whatever fault occurs there.
          stage.interrupted("device1", "server") { stage.sync(1) }
          stage.sync(1)
          stage.expect(
            "I10", !stage[1].view.tables.values.contains { $0.zone == list },
            "nothing of the zone is left there")
          stage.expect("I10", stage[1].view.zones[list]?.ack == nil, "nor is it asked for")
          // After access is granted again, everything is downloaded again.
          stage.share(0, list, with: "user1", role: "viewer")
          stage.settle()
          for item in items {
            stage.expect("I4", stage.isThere("items", item, on: 1), "all items came again")
          }
        }),
      Scenario(
        name: "Old request after a loss", guards: "I4, I7", users: [0, 1],
        takes: [.oldRequest, .fenced],
        script: { stage in
          let list = stage.makeList(0)
          let item = stage.makeItem(0, in: list)
          var member = stage.share(0, list, with: "user1")
          stage.settle()
          stage.goOffline(1)
          stage.delete(0, "members", member)
          stage.sync(0)
          member = stage.share(0, list, with: "user1")
          stage.sync(0)
          stage.goOnline(1)
          // The zone was lost in between, and is resynced. The network delays the request that says so.
          stage.fate = {
            $0.isRequest && $0.isSync && $0.json["acks"]?[list]?.stringValue == "" ? .isDoubled : .passes
          }
          stage.sync(1)
          stage.calm()
          let old = stage.held
          stage.held = []
          stage.settle()
          stage.expect("I4", stage.isThere("items", item, on: 1), "the zone is there again")
          // Within an hour, another resync would be postponed.
          stage.pass(3_700_000)
          stage.goOffline(1)
          stage.delete(0, "members", member)
          stage.sync(0)
          // Its edits without access have no effect. It never learns that it had no access.
          stage.delete(1, "items", item)
          stage.goOnline(1)
          stage.answers(to: 1, .isLost)
          stage.sync(1)
          stage.share(0, list, with: "user1")
          stage.sync(0)
          stage.held = old
          stage.release()
          stage.calm()
          stage.settle()
          stage.expect("I7", stage.isThere("items", item, on: 1), "the item is there again")
        }),
      Scenario(
        name: "Created zone gone before its creator heard of it", guards: "I10", users: [0, 0],
        takes: [.zoneLost],
        script: { stage in
          stage.settle()
          let list = stage.makeList(0)
          let item = stage.makeItem(0, in: list)
          stage.fate = { !$0.isRequest && $0.isSync && $0.message.device.number == 0 ? .isLost : .passes }
          stage.sync(0)
          stage.sync(1)
          stage.delete(1, "items", item)
          stage.delete(1, "lists", list)
          for member in stage[1].view.tables.filter({ $0.key.table == "members" && $0.value.zone == list })
            .keys.sorted()
          {
            stage.delete(1, "members", member.id)
          }
          stage.sync(1)
          stage.fate = { _ in .passes }
          stage.interrupted("device0") { stage.sync(0) }
          stage.settle()
          stage.expect(
            "I10", !stage[0].view.tables.values.contains { $0.zone == list },
            "nothing of the zone is left there")
        }),
      Scenario(
        name: "The list of a group is deleted", guards: "I10", users: [0, 1], takes: [.zoneLost],
        script: { stage in
          let (list, item) = stage.makeListWithItem()
          let group = stage.makeList(0)
          stage.share(0, group, with: "user1")
          stage.settle()
          stage.share(0, list, withMembersOf: group)
          stage.settle()
          stage.expect("I10", stage.isThere("items", item, on: 1), "a member of the group has the list")
          stage.goOffline(0)
          stage.delete(0, "lists", group)
          stage.goOnline(0)
          stage.interrupted("server") { stage.sync(0) }
          stage.settle()
          stage.expect(
            "I10", !stage[1].view.tables.values.contains { $0.zone == list },
            "nothing of the list is left with who had it by the group")
        }),
      Scenario(
        name: "A stranger shares, and nobody answers", guards: "I10", users: [0, 1],
        takes: [.joined],
        script: { stage in
          stage.world.acceptsMemberships = false
          let (list, item) = stage.makeListWithItem()
          let member = stage.share(0, list, with: "user1")
          stage.interrupted("server") { stage.sync(0) }
          stage.settle()
          stage.expect("I10", !stage.isThere("items", item, on: 1), "who has not accepted has nothing")
          stage.expect(
            "I10",
            stage.server.tables[RecordKey(table: "members", id: member)]?["invited_by"] != nil,
            "the membership waits")
          stage.world.acceptsMemberships = true
          stage.edit(0, "items", item, "title")
          stage.settle()
          stage.expect("I10", stage.isThere("items", item, on: 1), "who has accepted has the list")
          // The users now share a list, so the next membership needs no consent.
          stage.world.acceptsMemberships = false
          let other = stage.makeList(0)
          stage.share(0, other, with: "user1")
          stage.settle()
          stage.expect("I10", stage.isThere("lists", other, on: 1), "who shares a list is no stranger")
        }),
      Scenario(
        name: "Access granted late", guards: "I4", users: [0, 1], answerSize: 1500,
        script: { stage in
          let list = stage.makeList(0)
          let items = (0..<8).map { _ in stage.makeItem(0, in: list) }
          // The reader's own counter is far beyond all of these.
          for _ in 0..<16 { stage.makeNote(1) }
          stage.settle()
          stage.share(0, list, with: "user1", role: "viewer")
          stage.sync(0)
          stage.interrupted("device1") { stage.sync(1) }
          stage.settle()
          for item in items {
            stage.expect("I4", stage.isThere("items", item, on: 1), "the whole past arrived")
          }
        }),
    ]
  }
}
