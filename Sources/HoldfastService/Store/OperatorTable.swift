import HoldfastCore

/// What the database stores for operators: the audit log, and the samples of the console's charts. docs/CONSOLE.md.
package protocol OperatorTable: AnyObject {
  /// Adds an entry to the audit log. Removes those that are too old, or too many.
  ///
  /// - Parameters:
  ///   - id: greater than the ids of earlier entries.
  ///   - now: the trusted time, by which entries are too old.
  func add(_ entry: AuditEntry, id: String, at now: Int64) throws

  /// Stores samples, in place of those of the same times. Removes those that are too old by the trusted time.
  func put(_ samples: [StoredSample], at now: Int64) throws
}

/// An action of an operator.
package struct AuditEntry: Sendable, Equatable {
  /// How long an entry is kept, in milliseconds: 400 days.
  package static let life: Int64 = 400 * 86_400_000
  /// The number of entries that are kept.
  package static let countLimit = 20_000
  /// The maximum length of each text, in characters.
  package static let textLimit = 500

  /// In milliseconds since 1970.
  package let at: Int64
  package let action: AuditedAction
  /// The id of what it was done to, or a file; never a user's name, so that erasing a user leaves no name here.
  package let target: String
  /// More about it, such as a zone or a role; empty for nothing.
  package let detail: String
  package let author: AuditAuthor

  package init(at: Int64, _ action: AuditedAction, _ target: String, _ detail: String, by author: AuditAuthor)
  {
    (self.at, self.action, self.target, self.detail, self.author) = (at, action, target, detail, author)
  }

  /// The texts of the columns after the id and the time, cut to the limit: action, target, detail, operator, node, address.
  package var texts: [String] {
    [action.rawValue, target, detail, author.name, author.node, author.address].map(Self.cut)
  }

  private static func cut(_ text: String) -> String {
    text.unicodeScalars.count <= textLimit
      ? text : String(String.UnicodeScalarView(text.unicodeScalars.prefix(textLimit)))
  }
}

/// What an operator did.
package enum AuditedAction: String, Sendable, CaseIterable {
  case revoke, reset, grant, refuse, password, token, member, join, rename, move, drop, erase, restore, epoch,
    backup
  case backupFailed = "backup failed"
}

/// Who acts, and from where.
package struct AuditAuthor: Sendable, Equatable {
  /// The name of a console's token, or the command line and its user.
  package let name: String
  /// The name of the node or machine.
  package let node: String
  /// The address of the operator's browser; empty for the command line.
  package let address: String

  package init(name: String, node: String, address: String) {
    (self.name, self.node, self.address) = (name, node, address)
  }
}

/// The figures of one node in one period.
package struct StoredSample: Sendable, Equatable {
  /// The length of a period.
  package enum Span: Int64, Sendable, CaseIterable {
    case minute = 60
    case hour = 3600

    /// How long its samples are kept, in seconds: a day, and 31 days.
    package var life: Int64 { self == .minute ? 86_400 : 31 * 86_400 }
  }

  package let node: String
  package let span: Span
  /// When the period began, in seconds since 1970.
  package let at: Int64
  /// The figures, in JSON.
  package let content: String

  package init(node: String, span: Span, at: Int64, content: String) {
    (self.node, self.span, self.at, self.content) = (node, span, at, content)
  }
}
