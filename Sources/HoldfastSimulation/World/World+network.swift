import Holdfast
import HoldfastCore

/// What a person asks the server for by the app, beside syncing.
final class Inquiry {
  /// What the app heard; nil before, and when nothing came.
  var answer: TransportAnswer?

  var json: JSONValue { (try? JSONValue(parsing: answer?.body ?? [])) ?? .null }
}

/// A request under way.
struct Message {
  enum Question {
    case conversation(SyncConversation.Question)
    /// A sign-up or sign-in.
    case session(isNew: Bool)
    /// Something that takes a connection.
    case inquiry(Inquiry)
    /// Nobody waits for the answer.
    case nothing
  }

  let number: Int
  let device: SimulatedDevice
  let app: SimulatedDevice.App
  let request: TransportRequest
  let question: Question
}

extension World {
  /// Sends a request; its answer, or that none came, will be heard once.
  func send(
    _ request: TransportRequest, _ question: Message.Question, _ app: SimulatedDevice.App,
    _ device: SimulatedDevice
  ) {
    messages += 1
    let message = Message(number: messages, device: device, app: app, request: request, question: question)
    app.exchanges.insert(message.number)
    // A device gives up on an answer that does not come.
    timeline.add(.answer(message, .failure(StoreError(.offline, "nothing came"))), at: now + 30_000)
    var chance = Chance(seed: seed, UInt64(messages))
    if chance.one(in: weather.silent) || chance.one(in: weather.lostRequest) {
      return history.add("\(device.machine): request \(message.number) is lost", at: now)
    }
    let arrival = now + chance.number(in: weather.delay)
    timeline.add(.arrival(cut(message, &chance)), at: arrival)
    if chance.one(in: weather.doubled) {
      let late = chance.one(in: 4) ? chance.number(in: 1...7_200_000) : chance.number(in: 0...500)
      timeline.add(.arrival(message), at: arrival + late)
    }
  }

  /// Cut at any byte, now and then.
  private func cut(_ message: Message, _ chance: inout Chance) -> Message {
    guard chance.one(in: weather.cut), let body = message.request.body else { return message }
    let part = Array(body.prefix(chance.below(body.count)))
    let request = TransportRequest(
      method: message.request.method, path: message.request.path, token: message.request.token, body: part)
    return Message(
      number: message.number, device: message.device, app: message.app, request: request,
      question: message.question)
  }

  /// Brings the server's answer on its way.
  func reply(_ answer: TransportAnswer, to message: Message) {
    var chance = Chance(seed: seed, UInt64(message.number) << 32 | UInt64(now & 0xFFFF_FFFF))
    if chance.one(in: weather.lostAnswer) {
      return history.add("\(message.device.machine): answer \(message.number) is lost", at: now)
    }
    var answer = answer
    if chance.one(in: weather.cut), !answer.body.isEmpty {
      answer = TransportAnswer(
        status: answer.status, retryAfter: answer.retryAfter,
        body: Array(answer.body.prefix(chance.below(answer.body.count))))
    }
    timeline.add(.answer(message, .success(answer)), at: now + chance.number(in: weather.delay))
  }

  /// Tells a device at once that the server can't be reached.
  func refuse(_ message: Message) {
    timeline.add(.answer(message, .failure(StoreError(.offline, "refused"))), at: now + 1)
  }
}
