import Holdfast

/// An event stream between the server and an app: bytes in order, in one direction, until the connection breaks.
final class SimulatedStream {
  /// The number of the connection at the server.
  let number: Int
  let device: SimulatedDevice
  /// Nil after the app's end. Weak, because an app owns its stream; otherwise a killed app and its database would never be released.
  private(set) weak var app: SimulatedDevice.App?
  /// The app's number of the stream.
  let appNumber: Int
  let token: String
  let lastEventID: String?
  /// Whether the stream is silently broken: nothing arrives, and neither side notices.
  var isDead = false
  /// The arrival time of the last bytes. Later bytes do not overtake them.
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
