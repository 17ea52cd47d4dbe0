/// Whom an identity provider means: RFC 7519, sections 4.1.1 and 4.1.2.
struct Identity: Sendable, Hashable {
  let issuer: String
  let subject: String
}
