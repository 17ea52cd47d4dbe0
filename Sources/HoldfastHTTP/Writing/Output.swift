/// An answer that is being sent.
struct Output {
  /// A body up to this size is appended to its head instead of written separately.
  private static let smallBytes = 16 << 10

  /// The amount of a file that is sent per turn.
  private static let pieceSize = 256 << 10

  private var head: [UInt8]
  private var body: [UInt8]
  private var place = 0
  private let file: HTTPFile?
  private var rest: Range<Int64>

  /// - Parameter isHead: whether to leave out the content.
  init(_ head: [UInt8], _ response: HTTPResponse, isHead: Bool) {
    let isEmpty = isHead || ResponseHead.hasNoContent(response.status)
    self.head = head
    body = isEmpty || response.file != nil ? [] : response.body
    file = isEmpty ? nil : response.file?.file
    rest = file == nil ? 0..<0 : response.file?.range ?? 0..<0
    if body.count <= Self.smallBytes {
      self.head += body
      body = []
    }
  }

  var isDone: Bool { place == head.count && body.isEmpty && rest.isEmpty }

  /// The number of bytes in memory that the system has not accepted.
  var heldBytes: Int { head.count + body.count - place }

  /// Sends some bytes.
  mutating func write(to transport: SocketTransport) -> SocketTransport.Progress {
    if place < head.count {
      let progress = head.withUnsafeBytes {
        transport.write(UnsafeRawBufferPointer(rebasing: $0[place...]), more: !body.isEmpty || !rest.isEmpty)
      }
      if case .bytes(let count) = progress { place += count }
      if place < head.count || body.isEmpty { return progress }
      // The head is sent; the body follows.
      (head, body, place) = (body, [], 0)
      return progress
    }
    if rest.isEmpty { return .bytes(0) }
    guard let file else { return .ended }
    let count = Int(min(rest.upperBound - rest.lowerBound, Int64(Self.pieceSize)))
    if transport.isSecure {
      // Encryption happens in this process, so a piece of the file is read and written like a body.
      head = file.read(rest.lowerBound..<(rest.lowerBound + Int64(count)))
      place = 0
      if head.count < count { return .ended }
      rest = (rest.lowerBound + Int64(count))..<rest.upperBound
      return .bytes(0)
    }
    let progress = transport.send(file, from: rest.lowerBound, count: count)
    if case .bytes(let sent) = progress { rest = (rest.lowerBound + Int64(sent))..<rest.upperBound }
    return progress
  }
}
