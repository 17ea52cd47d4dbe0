import Holdfast
import HoldfastServer

/// A copy of the server's database that is put in its place, and starts that are no restores.
enum PutBackScenarios {
  static var all: [Scenario] {
    [
      copy(name: "A copy of the running server's database put in its place", isOfLastRun: true),
      copy(name: "A copy of an earlier run's database put in its place", isOfLastRun: false),
      Scenario(
        name: "Starts that are no restores", guards: "I7", users: [0], troubles: Command.Trouble.allCases,
        script: { stage in
          let list = stage.makeList(0)
          _ = stage.makeItem(0, in: list)
          stage.settle()
          let epoch = stage.epoch
          stage.interrupted("server") {
            stage.restartServer()
            stage.edit(0, "lists", list, "title")
            stage.sync(0)
            stage.restartServer()
          }
          stage.settle()
          stage.restartServer()
          stage.settle()
          stage.expect("I7", stage.epoch == epoch, "nothing was lost: the epoch is the same")
          stage.expectNoRefusal()
        }),
    ]
  }

  private static func copy(name: String, isOfLastRun: Bool) -> Scenario {
    Scenario(
      name: name, guards: "I2, I4, I7", users: [0, 1], troubles: Command.Trouble.allCases,
      takes: [.aheadOfRestore, .recovered],
      script: { stage in
        let list = stage.makeList(0)
        let item = stage.makeItem(0, in: list)
        stage.share(0, list, with: "user1")
        stage.settle()
        stage.perform(.backUpServer)
        if !isOfLastRun { stage.restartServer() }
        let title = stage.edit(0, "items", item, "title")
        stage.settle()
        let epoch = stage.epoch
        stage.goOffline(0)
        stage.interrupted("server") {
          stage.perform(.restoreServer)
          stage.pass(5000)
          // The same seq as that of the edit, with another change.
          stage.edit(1, "lists", list, "title")
          stage.sync(1)
        }
        stage.settle()
        stage.expect("I4", stage.epoch != epoch, "a new epoch has begun by itself")
        stage.expect("I7", stage.value("items", item, "title") == title, "the edit is recovered")
        stage.expectNoRefusal()
      })
  }
}
