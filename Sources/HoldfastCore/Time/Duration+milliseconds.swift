extension Duration {
  /// The duration in whole milliseconds, rounded toward zero and limited to Int64.
  package var wholeMilliseconds: Int64 {
    let (seconds, isOver) = components.seconds.multipliedReportingOverflow(by: 1000)
    let (whole, isBeyond) = seconds.addingReportingOverflow(components.attoseconds / 1_000_000_000_000_000)
    return isOver || isBeyond ? components.seconds < 0 ? .min : .max : whole
  }
}
