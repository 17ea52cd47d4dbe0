import HoldfastCore

/// Memberships that come by an invitation: nobody writes them on a device.
extension Oracle {
  /// An invitation was made, or may have been.
  func invited(to zone: String, role: String, uses: Int) {
    invitations.append(Invitation(zone: zone, role: role, uses: uses))
  }

  /// Whether a membership may be one of those that invitations give, of which each gives as many as it says.
  func comesByInvitation(_ key: RecordKey, _ row: Row) -> Bool {
    let place = invitations.firstIndex {
      $0.zone == row.zone && $0.role == row["role"]?.string && $0.uses > 0
    }
    guard key.table == "members", let place else { return false }
    // After a restore an invitation may be used once more.
    if lost == nil { invitations[place].uses -= 1 }
    return true
  }
}
