import HoldfastCore

/// I10: nobody is made a member by strangers without the own word.
extension Oracle {
  /// A user has accepted a membership, or may have.
  func accepted(_ membership: RecordKey) { acceptances.insert(membership) }

  /// A membership that counts is one that its user accepted, or made, or that of somebody with whom the user shared a zone.
  func expectConsent(_ difference: RecordDifference, _ row: Row, in view: ServerView) {
    let key = difference.key
    guard key.table == "members", row["invited_by"] == nil, let user = row["user"]?.string,
      let zone = row.zone
    else { return }
    if let old = difference.old, old["invited_by"] == nil { return }
    // Who was asked by a link as well may have accepted that.
    if difference.old != nil, invitations.contains(where: { $0.zone == zone }) { return }
    if acceptances.contains(key) || lost != nil || isOwn(key, row) { return }
    let makers = TextSet((creations[key] ?? []).map { self.user(of: $0) })
    // An invitation by a link is accepted by whom it makes a member.
    if makers.isEmpty || makers.contains(user) || makers.contains("") { return }
    let others = zones(of: user, view).subtracting(server.view.zones(of: user).contains(zone) ? [] : [zone])
    if makers.contains(where: { !others.isDisjoint(with: zones(of: $0, view)) }) { return }
    report(
      "I10",
      "server: \(key) made \(user) a member of zone \(zone) by the word of \(makers.sorted().joined(separator: ", ")), a stranger"
    )
  }

  /// The zones of a user before or after the request, but for public ones.
  private func zones(of user: String, _ view: ServerView) -> TextSet {
    server.view.zones(of: user).union(view.zones(of: user)).subtracting(rules.publicZones)
  }
}
