/// A value in an object that copies share. To copy it counts one reference, however many the value has.
struct Shared<Value: Hashable & Sendable>: Hashable, Sendable {
  /// @unchecked Sendable: the value only changes while a single copy has the box.
  private final class Box: @unchecked Sendable {
    var value: Value

    init(_ value: Value) { self.value = value }
  }

  private var box: Box

  init(_ value: Value) { box = Box(value) }

  @inline(__always) var value: Value { _read { yield box.value } }

  /// The value of this copy alone.
  var own: Value {
    get { box.value }
    _modify {
      if !isKnownUniquelyReferenced(&box) { box = Box(box.value) }
      yield &box.value
    }
  }

  static func == (left: Self, right: Self) -> Bool {
    left.box === right.box || left.box.value == right.box.value
  }

  func hash(into hasher: inout Hasher) { hasher.combine(box.value) }
}
