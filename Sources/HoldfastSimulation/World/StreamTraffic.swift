import Holdfast
import HoldfastHTTP
import HoldfastServer

/// The event streams of devices.
struct StreamTraffic {
  let world: World

  /// The heartbeat interval of the server in milliseconds.
  static let heartbeat: Int64 = 25_000

  // MARK: The device's side

  /// An app opens a stream, replacing its previous one.
  func openStream(
    _ appNumber: Int, token: String, lastEventID: String?, _ app: SimulatedDevice.App,
    _ device: SimulatedDevice
  ) {
    closeStream(of: app)
    world.streamCount += 1
    let stream = SimulatedStream(
      number: world.streamCount, device: device, app: app, appNumber: appNumber, token: token,
      lastEventID: lastEventID)
    app.stream = stream
    var chance = Chance(seed: world.seed, UInt64(stream.number) << 32)
    if chance.one(in: world.weather.silent) || chance.one(in: world.weather.lostRequest) {
      stream.isDead = true
      return world.history.add(
        "\(device.machine): the request for stream \(stream.number) is lost", at: world.now)
    }
    world.timeline.add(.streamRequest(stream), at: world.now + chance.number(in: world.weather.delay))
  }

  /// An app abandons its stream. The server notices when it sends.
  func closeStream(of app: SimulatedDevice.App) {
    app.stream?.isDead = true
    app.stream = nil
  }

  /// Bytes of a stream, or its end, reach the app.
  func receive(_ event: SyncConversation.StreamEvent, of stream: SimulatedStream) {
    guard let app = stream.app, world.isRunning(app), app.stream === stream, !stream.isDead else { return }
    if case .ended = event { closeStream(of: app) }
    world.step(app, stream.device) { $0.receive(event, stream: stream.appNumber, in: $1) }
  }

  /// A connection breaks, and the app notices.
  func breakStream(of app: SimulatedDevice.App) {
    guard let stream = app.stream else { return }
    world.server.streams[stream.number] = nil
    world.server.inline?.close(stream: stream.number)
    world.timeline.add(
      .streamEvent(stream, .ended(status: nil, retryAfter: nil)), at: max(world.now + 1, stream.lastArrival))
  }

  // MARK: The server's side

  /// A request for a stream reaches the server.
  func arrive(_ stream: SimulatedStream) {
    guard !stream.isDead else { return }
    guard let process = world.server.process, let inline = world.server.inline, world.disk.isAlive(process),
      world.isReachable(stream.device)
    else {
      return world.timeline.add(.streamEvent(stream, .ended(status: nil, retryAfter: nil)), at: world.now + 1)
    }
    var headers = HTTPHeaders()
    headers.append(name: "Authorization", value: "Bearer \(stream.token)")
    if let id = stream.lastEventID { headers.append(name: "Last-Event-ID", value: id) }
    let request = HTTPRequest(method: "GET", target: "/v1/events", headers: headers)
    let result = world.run(as: process) { inline.open(request, stream: stream.number) }
    guard world.disk.isAlive(process) else { return world.serverDied() }
    switch result {
    case .success(let hello):
      world.history.add("server: stream \(stream.number) of \(stream.device.machine) is open", at: world.now)
      world.server.streams[stream.number] = stream
      send(hello, on: stream)
    case .failure(let refusal):
      let event = SyncConversation.StreamEvent.ended(status: refusal.answer.status, retryAfter: nil)
      world.timeline.add(.streamEvent(stream, event), at: world.now + 1)
    }
    pushEvents()
  }

  /// Sends pending events, and ends the streams that the server has closed.
  func pushEvents() {
    guard let inline = world.server.inline else { return }
    for (number, bytes) in inline.takeEvents() {
      if let stream = world.server.streams[number] { send(bytes, on: stream) }
    }
    for number in inline.takeEnded() {
      guard let stream = world.server.streams.removeValue(forKey: number), !stream.isDead else { continue }
      world.timeline.add(
        .streamEvent(stream, .ended(status: nil, retryAfter: nil)), at: max(world.now + 1, stream.lastArrival)
      )
    }
  }

  /// Sends a heartbeat on all streams.
  func beat(_ process: SimulatedProcess) {
    guard let inline = world.server.inline, world.server.process == process, world.disk.isAlive(process)
    else { return }
    // The server looks at each session in its database, where it may die.
    let beats = world.run(as: process) { inline.heartbeats() }
    guard world.disk.isAlive(process) else { return world.serverDied() }
    for (number, bytes) in beats {
      if let stream = world.server.streams[number] { send(bytes, on: stream) }
    }
    world.timeline.add(.heartbeat(process), at: world.now + Self.heartbeat)
  }

  /// All connections of the server break. Devices may or may not notice.
  func loseStreams() {
    for stream in world.server.streams.values.sorted(by: { $0.number < $1.number }) where !stream.isDead {
      var chance = Chance(seed: world.seed, UInt64(stream.number) << 32 | 0xFFFF)
      if chance.one(in: world.weather.silent) {
        stream.isDead = true
      } else {
        world.timeline.add(
          .streamEvent(stream, .ended(status: nil, retryAfter: nil)),
          at: max(world.now + 1, stream.lastArrival))
      }
    }
    world.server.streams = [:]
  }

  private func send(_ bytes: [UInt8], on stream: SimulatedStream) {
    guard let app = stream.app, world.isRunning(app), app.stream === stream else {
      // The app's end of the connection is gone.
      world.server.streams[stream.number] = nil
      world.server.inline?.close(stream: stream.number)
      return
    }
    stream.pieces += 1
    var chance = Chance(seed: world.seed, UInt64(stream.number) << 32 | UInt64(stream.pieces))
    if !world.isReachable(stream.device) || chance.one(in: world.weather.silent) {
      if !stream.isDead {
        world.history.add("stream \(stream.number) of \(stream.device.machine) falls silent", at: world.now)
      }
      stream.isDead = true
    }
    if stream.isDead { return }
    let arrival = max(stream.lastArrival, world.now + chance.number(in: world.weather.delay))
    stream.lastArrival = arrival
    if chance.one(in: world.weather.cut) {
      world.timeline.add(
        .streamEvent(stream, .bytes(Array(bytes.prefix(chance.below(bytes.count))))), at: arrival)
      world.server.streams[stream.number] = nil
      world.server.inline?.close(stream: stream.number)
      return world.timeline.add(.streamEvent(stream, .ended(status: nil, retryAfter: nil)), at: arrival)
    }
    world.timeline.add(.streamEvent(stream, .bytes(bytes)), at: arrival)
  }
}
