import HoldfastCore

/// Devices that are copies of others, or of their own earlier state.
enum CopyScenarios {
  static var all: [Scenario] {
    [
      Scenario(
        name: "Device cloned", guards: "I1, I3", users: [0], takes: [.divergedChain, .renumbered],
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          stage.clone(0)
          // Both use the same number; neither has sent anything since.
          stage.goOffline(0, 1)
          let items = [stage.makeItem(0, in: list), stage.makeItem(1, in: list)]
          // The first one's answer is lost, so it has not acknowledged it.
          stage.goOnline(0)
          stage.answers(to: 0, .isLost)
          stage.sync(0)
          stage.goOffline(0)
          stage.calm()
          stage.goOnline(1)
          stage.sync(1)
          stage.settle()
          stage.expectOnce(items.map { ("items", $0) })
        }),
      Scenario(
        name: "Device cloned with unsent edits", guards: "I1, I3", users: [0, 1], takes: [.divergedAnswers],
        script: { stage in
          let list = stage.makeList(0)
          stage.share(0, list, with: "user1", role: "viewer")
          stage.settle()
          stage.goOffline(1)
          let refused = stage.edit(1, "lists", list, "title")
          let note = stage.makeNote(1)
          stage.clone(1)
          stage.goOffline(2)
          stage.goOnline(1)
          stage.sync(1)
          // The second request acknowledges the refusal, and the server purges it.
          let other = stage.makeNote(1)
          stage.sync(1)
          stage.goOnline(2)
          stage.sync(2)
          stage.settle()
          stage.expect(
            "I1", stage.rev("notes", note) == 1 && stage.rev("notes", other) == 1, "notes are made once")
          for device in [1, 2] {
            stage.expect(
              "I3", stage.isQuarantined(refused, on: device), "device \(device) learned of the refusal")
          }
        }),
      Scenario(
        name: "Device restored from a backup", guards: "I1, I3",
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          stage.perform(.restore(device: 0))
          let before = stage.makeItem(0, in: list)
          stage.settle()
          // The disk is restored, and the number of that item is used for another one.
          stage.perform(.restore(device: 0))
          stage.goOffline(0)
          stage.pass(50)
          let after = stage.makeItem(0, in: list)
          stage.goOnline(0)
          stage.interrupted("device0", "server") { stage.sync(0) }
          stage.settle()
          stage.expectOnce([("items", before), ("items", after)])
        }),
      Scenario(
        name: "A number that never arrived", guards: "I1, I3", takes: [.divergedNumber, .renumbered],
        script: { stage in
          let list = stage.makeList(0)
          let first = stage.makeItem(0, in: list)
          stage.settle()
          // As on a server that has lost its last moments.
          try stage.changeServer("UPDATE holdfast_devices SET confirmed = 1 WHERE confirmed > 1")
          let second = stage.makeItem(0, in: list)
          stage.settle()
          stage.expectOnce([("items", first), ("items", second)])
        }),
      Scenario(
        name: "A create of a copy that arrived, and was deleted since", guards: "I1, I8",
        takes: [.copyLeftOut],
        script: { stage in
          stage.goOffline(0)
          let note = stage.makeNote(0)
          stage.clone(0)
          stage.goOffline(2)
          stage.goOnline(0)
          stage.sync(0)
          // Its next request acknowledges the answer.
          stage.makeNote(0)
          stage.sync(0)
          stage.sync(1)
          stage.delete(1, "notes", note)
          stage.sync(1)
          // The copy has the same create in its outbox, and is told that it took effect.
          stage.goOnline(2)
          stage.sync(2)
          stage.settle()
          stage.expect("I8", !stage.isThere("notes", note), "the note stays deleted")
          for device in 0...2 {
            stage.expect("I8", !stage.isThere("notes", note, on: device), "it is gone from device \(device)")
          }
        }),
      Scenario(
        name: "A create of a copy that was refused, and deleted since", guards: "I3, I8",
        takes: [.copyUncertain],
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          stage.goOffline(0)
          let first = stage.makeItem(1, in: list, code: "one")
          stage.sync(1)
          let refused = stage.makeItem(0, in: list, code: "one")
          let title = stage.value("items", refused, "title", on: 0) ?? ""
          stage.delete(0, "items", refused)
          stage.clone(0)
          stage.goOffline(2)
          stage.goOnline(0)
          stage.sync(0)
          // Its next request acknowledges the refusal.
          stage.makeNote(0)
          stage.sync(0)
          // The create would now succeed.
          stage.delete(1, "items", first)
          stage.sync(1)
          stage.goOnline(2)
          stage.sync(2)
          stage.settle()
          stage.expect("I8", !stage.isThere("items", refused), "what was deleted behind it stays away")
          stage.expect("I3", stage.isQuarantined(title, on: 2), "it waits in quarantine")
        }),
    ]
  }
}
