import HoldfastCore

/// A device at the end, when everything has been sent and every answer applied.
struct FinalDevice {
  let device: String
  /// The id of the device's user; empty for one that never signed in.
  let user: String
  /// The public zones that it follows.
  var follows: TextSet = []
  let view: DeviceView
}

/// What SQLite finds wrong with one database.
struct Soundness {
  /// "server", or the device.
  let place: String
  let faults: [String]
}

extension Oracle {
  /// The network is whole, nobody writes any more, and every device has synced until nothing was left.
  ///
  /// - Returns: all violations, also those found before.
  func finish(devices final: [FinalDevice], server view: ServerView, soundness: [Soundness]) -> [Violation] {
    look(view)
    expectPlaces(view)
    for device in final { applied(device: device.device, user: device.user, view: device.view) }
    for place in soundness {
      for fault in place.faults {
        report(fault.hasPrefix("foreign key") ? "I9" : "I2", "\(place.place): \(fault)")
      }
    }
    for device in final where !device.user.isEmpty {
      expectNothingLeft(device)
      expectAgreement(device, view)
    }
    let accounting = Accounting(self, devices: final, server: view)
    accounting.reportLost()
    accounting.reportSums()
    accounting.reportUndead()
    accounting.reportHalfRefused()
    return violations
  }

  /// I12: nothing waits to be sent.
  private func expectNothingLeft(_ device: FinalDevice) {
    for body in device.view.outbox { report("I12", "\(device.device): the outbox still has \(body)") }
    if device.view.recovered > 0 {
      report("I12", "\(device.device): \(device.view.recovered) records wait to be recovered")
    }
    for edit in device.view.edits {
      report(
        "I12",
        "\(device.device): an edit is left: \(edit.kind) of \(edit.key).\(edit.column), base \(edit.base)")
    }
  }

  /// I7, I10: the device has what its user may read, as the server has it, and nothing else.
  private func expectAgreement(_ device: FinalDevice, _ server: ServerView) {
    let member = server.zones(of: device.user)
    let zones = member.union(device.follows.intersection(rules.publicZones))
    let expected = server.tables.filter { zones.contains($0.value.zone ?? "") }
    for difference in RecordDifference.between(expected, device.view.tables) {
      let key = difference.key
      switch (difference.old, difference.new) {
      case (nil, let here?):
        let zone = here.zone ?? "none"
        if zones.contains(zone) {
          report("I7", "\(device.device): has \(key) of zone \(zone), which the server has not there")
        } else {
          report(
            rules.publicZones.contains(zone) ? "I7" : "I10",
            "\(device.device): has \(key) of zone \(zone), which \(device.user) may not read or does not follow"
          )
        }
      case (let there?, nil):
        report("I7", "\(device.device): lacks \(key) of zone \(there.zone ?? "none"), rev \(there.rev)")
      case (let there?, let here?):
        let columns = there.keys.union(here.keys).sorted().filter { there[$0] != here[$0] }
          .map { "\($0) is \(text(here[$0])), on the server \(text(there[$0]))" }
        report("I7", "\(device.device): \(key): \(columns.joined(separator: "; "))")
      case (nil, nil): continue
      }
    }
  }
}
