import HoldfastCore

/// The model: it is told what people did and what databases show, and says which promises are broken.
///
/// It knows no rule of merging, only what must hold of the outcome whatever the rules are.
final class Oracle {
  /// A record that a transaction deleted.
  struct Deletion {
    let transaction: Int
    let key: RecordKey
    /// The server was seen to keep the record where the person is a stranger: there a delete has no effect.
    var isBeyondReach = false
  }

  /// What an invitation may still give, and to which zone.
  struct Invitation {
    let zone: String
    let role: String
    var uses: Int
  }

  /// Where a token was written, and by which transactions.
  struct Written {
    let key: RecordKey
    let column: String
    var transactions: [Int]
  }

  /// What is remembered of a device.
  struct Device {
    var user = ""
    /// The records at the last look; nil when the device has not been looked at.
    var tables: Tables?
    /// Tokens that stand under the device's own edits as what the server has.
    var bases: Set<Int> = []
    /// Transactions that were in the outbox at the last look, or were written since.
    var open: [Int] = []
    /// The change sets in quarantine that are known already, with their transactions where they are known.
    var quarantined: [Int64: Int?] = [:]
    /// The tokens of the device's last own edit of each column.
    var latest: [RecordKey: TextMap<Set<Int>>] = [:]
    /// The reasons of refusals that the server has given.
    var refusals: TextSet = []
    /// Whether another device began as a copy of this one, or this one as a copy: then a change set may arrive twice.
    var isCopied = false
  }

  /// What is remembered of a device whose database may be put back to this state.
  struct Backup {
    let device: Device
    let states: [LocalTransaction.State]
  }

  let rules: ModelRules
  let referencesOfTable: TextMap<[ModelRules.Reference]>
  private(set) var violations: [Violation] = []
  private var known: Set<Violation> = []
  private var sets: TextMap<SentChangeSet> = [:]

  /// How many zones were answered with a reset.
  var resets = 0
  var transactions: [LocalTransaction] = []
  var changes: [RecordKey: [LocalChange]] = [:]
  /// The transactions that created each record.
  var creations: [RecordKey: [Int]] = [:]
  /// The transactions that created a record of this id in any table.
  var makers: TextMap<[Int]> = [:]
  var deletions: [Deletion] = []
  var written: [Int: Written] = [:]
  /// Tokens that a later transaction wrote again, or kept in a longer text: they don't tell whose they are.
  var repeated: Set<Int> = []
  /// Tokens of refused transactions that were replaced by others that were refused, too, before all of them were written again.
  var replacedInQuarantine: Set<Int> = []
  var devices: TextMap<Device> = [:]
  var invitations: [Invitation] = []
  /// The memberships that their users have accepted.
  var acceptances: Set<RecordKey> = []
  var server = ServerMemory()
  /// What a restore of the server has lost; nil when it was never restored.
  var lost: LostHistory?

  init(rules: ModelRules) {
    self.rules = rules
    referencesOfTable = TextMap(grouping: rules.references, by: \.table)
  }

  /// Notes what is wrong; the same thing once.
  func report(_ invariant: String, _ text: String) {
    let violation = Violation(invariant: invariant, text: text)
    if known.insert(violation).inserted { violations.append(violation) }
  }

  /// Notes several things in an order that does not depend on how dictionaries are laid out.
  func report(_ invariant: String, _ texts: [String]) {
    for text in texts.sorted() { report(invariant, text) }
  }

  /// The change set of some bytes, which never change.
  func changeSet(_ body: String, on device: String) -> SentChangeSet? {
    if let read = sets[body] { return read }
    guard let read = SentChangeSet(body) else {
      report("I3", "\(device): a change set is no list of operations: \(body)")
      return nil
    }
    sets[body] = read
    return read
  }

  /// The user of a transaction: one of before the sign-in belongs to who signs in.
  func user(of transaction: Int) -> String {
    let transaction = transactions[transaction]
    return transaction.user.isEmpty ? devices[transaction.device]?.user ?? "" : transaction.user
  }
}
