/// The refusal of a request, as the status of its answer.
///
/// Nothing is read after such a request, because client and server may disagree where it ends.
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
