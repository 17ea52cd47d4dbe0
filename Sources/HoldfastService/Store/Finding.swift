/// An inconsistency that `holdfast doctor` found in a database.
public struct Finding: Sendable, Hashable, CustomStringConvertible {
  /// What is inconsistent.
  public enum Kind: String, Sendable, CaseIterable {
    /// The access that is stored differs from what the memberships say.
    case access
    /// The clock is not believed.
    case clock
    /// The counts of a zone differ from what it holds.
    case counts
    /// A record is in a zone's changes twice.
    case feed
    /// The database is older than the one that was served last.
    case history
    /// The file is damaged.
    case integrity
    /// PostgreSQL's tables and the ledger differ.
    case ledger
    /// A zone has no owner, or a user's own zone has another owner alone.
    case owner
    /// A reference names a missing record.
    case reference
    /// The numbers of a zone's changes have a gap or a double.
    case seq
    /// The stamps of a record are unreadable.
    case stamps
    /// A trigger, function or constraint of Holdfast is missing.
    case structure
    /// A trigger of others changes what devices have.
    case trigger
    /// Two records have one unique value.
    case unique
    /// Values of a column are none that the schema allows.
    case value
    /// A record is in a wrong zone.
    case zone
  }

  /// What is inconsistent.
  public let kind: Kind
  /// Where, for a person.
  public let text: String

  package init(_ kind: Kind, _ text: String) { (self.kind, self.text) = (kind, text) }

  /// That of a user who is no owner of the own zone.
  package init(withoutOwnZone user: String) {
    self.init(.owner, "the user \(user) is no owner of the zone of this id, which is the user's own")
  }

  /// The line for an operator.
  public var description: String { "\(kind.rawValue): \(text)" }
}

extension Finding {
  /// The findings in a backup that is restored. An operator mends them in the restored database as in the one that was backed up, and there may be no other
  /// backup.
  ///
  /// - Throws: `ServerError.damaged` for one with which a database can't be served.
  package static func restorable(_ findings: [Finding]) throws(ServerError) -> [Finding] {
    if let first = findings.first(where: { [.integrity, .reference].contains($0.kind) }) {
      throw ServerError(
        .damaged, "What the backup holds contradicts itself: \(first). Take another backup.")
    }
    return findings
  }
}

extension Finding.Kind {
  /// What an operator does about it, in one sentence.
  public var remedy: String {
    switch self {
    case .access, .counts: "`holdfast doctor --repair` computes it again, also while servers run."
    case .ledger:
      "`holdfast doctor --repair` records what was changed behind the triggers, also while servers run; if it stays, restore a backup."
    case .structure:
      "Run the statement that the finding names, or `holdfast doctor --repair`, which puts triggers back."
    case .trigger: "Change the trigger as the finding says, then run `holdfast doctor --repair`."
    case .clock:
      "Set a wrong clock; confirm a right one by `holdfast purge --trust-clock`."
    case .history:
      "Restart the server, which begins a new epoch, and then devices upload what is missing (docs/RESTORING.md)."
    case .owner:
      "`holdfast doctor --repair` gives users their own zones back; `holdfast zones grant ZONE NAME owner` gives any zone an owner."
    case .unique:
      "Change or delete one of the two records on a device; nothing else stops working meanwhile."
    case .value:
      "Correct the values by an edit of the records, on a device or over REST, unless an earlier schema allowed them."
    case .reference:
      "Delete the record that refers to it on a device or over REST; if there are many, restore a backup."
    case .zone:
      "On PostgreSQL `holdfast doctor --repair` moves it; with SQLite delete the record on a device and create it again."
    case .feed, .seq, .stamps:
      "Stop the server, keep a copy of the database, and restore a backup by `holdfast restore FILE --replace`; devices then upload what is newer."
    case .integrity:
      "Stop the server, check the disk, and restore a backup by `holdfast restore FILE --replace`; devices then upload what is newer."
    }
  }
}
