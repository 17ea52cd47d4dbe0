import Holdfast

/// A stream of events between the server and an app: bytes in order, one way, until the connection breaks.
final class SimulatedStream {
  /// Of the connection, for the server.
  let number: Int
  let device: SimulatedDevice
  /// Nil once it is gone. Weak, as an app has its stream: one whose process was killed would never go, nor its database.
  private(set) weak var app: SimulatedDevice.App?
  /// The number that the app knows it by.
  let appNumber: Int
  let token: String
  let lastEventID: String?
  /// Nothing passes any more, and neither side knows.
  var isDead = false
  /// When the last bytes arrive: those that follow do not overtake them.
  var lastArrival: Int64 = 0
  var pieces = 0

  init(
    number: Int, device: SimulatedDevice, app: SimulatedDevice.App, appNumber: Int, token: String,
    lastEventID: String?
  ) {
    (self.number, self.device, self.app, self.appNumber) = (number, device, app, appNumber)
    (self.token, self.lastEventID) = (token, lastEventID)
  }
}
