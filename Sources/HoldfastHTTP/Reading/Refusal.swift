/// Why a request is not taken, as the status of its answer.
///
/// Nothing is read behind such a request: who sent it and who reads it may not agree where it ends.
struct Refusal: Error, Equatable {
  let status: Int

  static let malformed = Refusal(status: 400)
  static let tooLarge = Refusal(status: 413)
  static let targetTooLong = Refusal(status: 414)
  static let unknownExpectation = Refusal(status: 417)
  static let headTooLarge = Refusal(status: 431)
  static let notImplemented = Refusal(status: 501)
  static let unknownVersion = Refusal(status: 505)
}
