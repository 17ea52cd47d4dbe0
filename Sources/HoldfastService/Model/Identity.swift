/// A user of an identity provider: RFC 7519, sections 4.1.1 and 4.1.2.
package struct Identity: Sendable, Hashable {
  package let issuer: String
  package let subject: String

  package init(issuer: String, subject: String) {
    (self.issuer, self.subject) = (issuer, subject)
  }
}
