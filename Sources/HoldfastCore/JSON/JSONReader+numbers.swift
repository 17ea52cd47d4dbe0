/// A JSON number, exact when it is a 64-bit integer.
package enum JSONNumber: Hashable, Sendable {
  /// Written without fraction and exponent, and within 64 bits.
  case integer(Int64)
  /// Any other number: the double nearest to it.
  case real(Double)
}

/// A scanned number that is valid: its position, and its digits up to the limit.
struct JSONNumberScan {
  let start: Int
  var end = 0
  var isNegative = false
  var isInteger = true
  /// The first 19 significant digits; all of them when `isExact`.
  var mantissa: UInt64 = 0
  var digits = 0
  /// The power of ten that scales `mantissa`.
  var exponent: Int64 = 0

  var isExact: Bool { digits <= 19 }

  init(start: Int) { self.start = start }

  @inline(__always)
  mutating func add(_ byte: UInt8) {
    if digits > 0 || byte != UInt8(ascii: "0") { digits &+= 1 }
    if digits <= 19 { mantissa = mantissa &* 10 &+ UInt64(byte &- UInt8(ascii: "0")) }
  }
}

extension JSONReader {
  /// Reads an integer exactly: it must be written without fraction and exponent, and fit into 64 bits.
  ///
  /// - Throws: ``JSONError``: `typeMismatch`, `invalidNumber`, `notAnInteger` or `numberOutOfRange`.
  package mutating func readInt64() throws(JSONError) -> Int64 {
    let scan = try scanNumber()
    guard scan.isInteger else { throw fail(.notAnInteger, at: scan.start) }
    guard let value = integer(scan) else { throw fail(.numberOutOfRange, at: scan.start) }
    return value
  }

  /// Reads any number as the nearest double (ties to even), as RFC 8259 section 6 expects.
  ///
  /// - Throws: ``JSONError``: `typeMismatch`, `invalidNumber`, or `numberOutOfRange` beyond the finite doubles.
  package mutating func readDouble() throws(JSONError) -> Double {
    try double(try scanNumber())
  }

  /// Reads any number: as an integer if it is written as one and fits into 64 bits, otherwise as a double.
  ///
  /// - Throws: ``JSONError``: `typeMismatch`, `invalidNumber`, or `numberOutOfRange` beyond the finite doubles.
  package mutating func readNumber() throws(JSONError) -> JSONNumber {
    let scan = try scanNumber()
    if scan.isInteger, let value = integer(scan) { return .integer(value) }
    return .real(try double(scan))
  }

  /// Validates and consumes the next number.
  mutating func scanNumber() throws(JSONError) -> JSONNumberScan {
    let first = try nextByte()
    guard first == UInt8(ascii: "-") || isDigit(first) else { throw mismatch(.number) }
    var scan = JSONNumberScan(start: index)
    var place = index
    if first == UInt8(ascii: "-") {
      scan.isNegative = true
      place &+= 1
    }
    let whole = try scanDigits(from: &place, into: &scan)
    if whole > 1, base[place &- whole] == UInt8(ascii: "0") { throw fail(.invalidNumber, at: scan.start) }
    if place < count, base[place] == UInt8(ascii: ".") {
      place &+= 1
      scan.isInteger = false
      scan.exponent = Int64(-(try scanDigits(from: &place, into: &scan)))
    }
    if place < count, base[place] | 0x20 == UInt8(ascii: "e") {
      place &+= 1
      scan.isInteger = false
      scan.exponent &+= try scanExponent(from: &place)
    }
    scan.end = place
    index = place
    return scan
  }

  @inline(__always)
  private mutating func scanDigits(
    from place: inout Int, into scan: inout JSONNumberScan
  ) throws(JSONError) -> Int {
    let start = place
    while place < count, isDigit(base[place]) {
      scan.add(base[place])
      place &+= 1
    }
    guard place > start else { throw noDigit(at: place) }
    return place &- start
  }

  private mutating func scanExponent(from place: inout Int) throws(JSONError) -> Int64 {
    var isNegative = false
    if place < count, base[place] == UInt8(ascii: "-") || base[place] == UInt8(ascii: "+") {
      isNegative = base[place] == UInt8(ascii: "-")
      place &+= 1
    }
    let start = place
    var exponent: Int64 = 0
    while place < count, isDigit(base[place]) {
      if exponent < 1 << 55 { exponent = exponent &* 10 &+ Int64(base[place] &- UInt8(ascii: "0")) }
      place &+= 1
    }
    guard place > start else { throw noDigit(at: place) }
    return isNegative ? -exponent : exponent
  }

  private mutating func noDigit(at place: Int) -> JSONError {
    place < count ? fail(.invalidNumber, at: place) : fail(.unexpectedEnd, at: count)
  }

  private func integer(_ scan: JSONNumberScan) -> Int64? {
    guard scan.isExact else { return nil }
    if !scan.isNegative { return Int64(exactly: scan.mantissa) }
    return scan.mantissa <= 1 << 63 ? Int64(truncatingIfNeeded: 0 &- scan.mantissa) : nil
  }

  /// If digits and power of ten are both exact doubles, one operation is correctly rounded (Clinger 1990). Other numbers use the standard
  /// library, which rounds correctly too.
  private mutating func double(_ scan: JSONNumberScan) throws(JSONError) -> Double {
    if scan.mantissa == 0 { return scan.isNegative ? -0.0 : 0.0 }
    if scan.isExact, scan.mantissa <= 1 << 53, scan.exponent >= -22, scan.exponent <= 22 {
      let magnitude = Double(scan.mantissa)
      let power = powersOfTen[Int(scan.exponent.magnitude)]
      let value = scan.exponent < 0 ? magnitude / power : magnitude * power
      return scan.isNegative ? -value : value
    }
    let text = UnsafeBufferPointer(start: base + scan.start, count: scan.end &- scan.start)
    guard let value = Double(String(decoding: text, as: UTF8.self)), value.isFinite else {
      throw fail(.numberOutOfRange, at: scan.start)
    }
    return value
  }
}

/// The powers of ten that a double holds exactly.
private let powersOfTen: [Double] = [
  1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
  1e19, 1e20, 1e21, 1e22,
]

@inline(__always)
private func isDigit(_ byte: UInt8) -> Bool {
  byte &- UInt8(ascii: "0") < 10
}
