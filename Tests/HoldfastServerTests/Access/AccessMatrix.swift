import HoldfastCore

/// What is answered to whose token is good: the status, that of the one operation among several in brackets, the problem, and whether the
/// record is shown. `{root}`, `{child}`, `{own}` and `{public}` are tables by how they find their zone. A token that is not good is
/// answered with 401 wherever one is needed, and is not looked at elsewhere.
enum AccessMatrix {
  typealias Answers = [AccessScene.Sender: String]

  /// By operation.
  static let rows: TextMap<Answers> = {
    var rows = service.merging(zones) { $1 }.merging(leaving) { $1 }.merging(invitations) { $1 }
      .merging(memberships) { $1 }
    for table in ["{root}", "{child}", "{own}"] { rows.merge(records(table)) { $1 } }
    return rows.merging(special) { $1 }
  }()

  /// - Parameters:
  ///   - owner, program: as the editor, unless it is said.
  ///   - stray: a program in whose zones it is not; as a user who is no member, unless it is said.
  private static func answers(
    _ other: String, viewer: String, editor: String, owner: String? = nil, program: String? = nil,
    stray: String? = nil
  ) -> Answers {
    [
      .other: other, .viewer: viewer, .editor: editor, .owner: owner ?? editor, .program: program ?? editor,
      .strayProgram: stray ?? other,
    ]
  }

  private static func all(_ answer: String, programs: String? = nil) -> Answers {
    answers(answer, viewer: answer, editor: answer, program: programs, stray: programs)
  }

  private static let unknown = "404 record-unknown"
  private static let noRole = "403 role-insufficient"
  private static let noProgram = "403 token-limited"
  private static let noReference = "422 reference-missing"

  // MARK: The service

  private static let service: TextMap<Answers> = [
    "GET /healthz": all("200"), "GET /readyz": all("200"), "GET /openapi.json": all("200"),
    "GET /v1/schema": all("200"),
    "POST /v1/accounts": all("201"), "POST /v1/sessions": all("200"),
    "DELETE /v1/sessions": all("204", programs: noProgram),
    "DELETE /v1/sessions/current": all("204", programs: noProgram),
    "PUT /v1/account/password": all("204", programs: noProgram),
    "POST /v1/devices": all("201", programs: noProgram),
    // The device asked for is the owner's.
    "GET /v1/devices": answers(
      "200", viewer: "200", editor: "200", owner: "200 shown", program: noProgram, stray: noProgram),
    "DELETE /v1/devices/{device}": answers(
      "404 not-found", viewer: "404 not-found", editor: "404 not-found", owner: "204", program: noProgram,
      stray: noProgram),
    "PUT /v1/push-token": all("204", programs: noProgram),
    "DELETE /v1/push-token": all("204", programs: noProgram),
    "GET /v1/events": all("200"),
    "POST /v1/events/tickets": all("201"),
  ]

  private static let zones: TextMap<Answers> = [
    "GET /v1/zones": answers("200", viewer: "200 shown", editor: "200 shown"),
    "GET /v1/zones/{zone}/changes": answers("404 not-found", viewer: "200 shown", editor: "200 shown"),
    "GET /v1/zones/{zone}/snapshot": answers("404 not-found", viewer: "200 shown", editor: "200 shown"),
    "POST /v1/batch": answers("422 record-unknown", viewer: "422 role-insufficient", editor: "200 (200)"),
    // A viewer is refused the edit, and gets the zone that he says that he has.
    "POST /v1/sync": answers(
      "200 record-unknown", viewer: "200 role-insufficient shown", editor: "200", program: noProgram,
      stray: noProgram),
  ]

  /// What the sender's user is a member of: not all public zones.
  private static let leaving: TextMap<Answers> = {
    let shown = answers(
      "200", viewer: "200 shown", editor: "200 shown", program: noProgram, stray: noProgram)
    let tables = ["", "/{root}", "/{child}", "/{own}", "/{public}", "/members", "/conflicts"]
    let exports = tables.map { ("GET /v1/account/export\($0)", shown) }
    return TextMap(
      exports + [("DELETE /v1/account", all("204", programs: noProgram))])
  }()

  /// Owners invite, people accept.
  private static let invitations: TextMap<Answers> = {
    func owners(_ answer: String) -> Answers {
      answers(
        "404 not-found", viewer: noRole, editor: noRole, owner: answer, program: noProgram, stray: noProgram)
    }
    return [
      "POST /v1/zones/{zone}/invitations": owners("201"),
      "GET /v1/zones/{zone}/invitations": owners("200"),
      "DELETE /v1/zones/{zone}/invitations/{invitation}": owners("204"),
      "POST /v1/invitations/accept": all("201", programs: noProgram),
      "POST /v1/invitations/look": all("200"),
    ]
  }()

  /// Everybody says something of the own memberships, and owners of their groups. The membership, the grant and the user that are named are not there.
  private static let memberships: TextMap<Answers> = {
    let nothing = "404 not-found"
    func owners(_ answer: String) -> Answers {
      answers(nothing, viewer: noRole, editor: noRole, owner: answer, program: noProgram, stray: noProgram)
    }
    return [
      "GET /v1/memberships": all("200", programs: noProgram),
      "DELETE /v1/memberships/{membership}": all(nothing, programs: noProgram),
      "POST /v1/memberships/{membership}/accept": all(nothing, programs: noProgram),
      "DELETE /v1/zones/{zone}/membership": answers(
        nothing, viewer: "204", editor: "204", program: noProgram, stray: noProgram),
      "GET /v1/zones/{zone}/grants": owners("200"),
      "DELETE /v1/zones/{zone}/grants/{grant}": owners(nothing),
      // The server has no directory.
      "POST /v1/passes": all("404 not-found", programs: noProgram),
      "GET /v1/databases": all("404 not-found", programs: noProgram),
      "GET /v1/users": all("400 invalid-request", programs: noProgram),
      "GET /v1/blocks": all("200", programs: noProgram),
      "PUT /v1/blocks/{user}": all(nothing, programs: noProgram),
      "DELETE /v1/blocks/{user}": all("204", programs: noProgram),
    ]
  }()

  // MARK: Tables

  /// The operations of records in zones that have members.
  private static func records(_ table: String) -> [(String, Answers)] {
    let path = "/v1/tables/\(table)"
    return [
      ("GET \(path)", answers("200", viewer: "200 shown", editor: "200 shown")),
      ("POST \(path)", answers(noReference, viewer: noRole, editor: "201")),
      (
        "PATCH \(path)",
        answers("200 (404) record-unknown", viewer: "200 (403) role-insufficient", editor: "200 (200)")
      ),
      ("DELETE \(path)", answers("200 (204)", viewer: "200 (403) role-insufficient", editor: "200 (200)")),
      ("GET \(path)/{id}", answers(unknown, viewer: "200 shown", editor: "200 shown")),
      ("PATCH \(path)/{id}", answers(unknown, viewer: noRole, editor: "200")),
      // An id that is taken can't be taken again, which says that it is: who knows an id has seen it.
      ("PUT \(path)/{id}", answers("409 record-exists", viewer: noRole, editor: "200")),
      ("DELETE \(path)/{id}", answers("204", viewer: noRole, editor: "200")),
      ("POST \(path)/{id}/restore", answers(unknown, viewer: noRole, editor: "200")),
    ]
  }

  /// Tables of which something is otherwise, and those that are.
  private static let special: TextMap<Answers> = [
    // Everybody may begin a zone of his own, but for programs whose zones are named.
    "POST /v1/tables/{root}": all("201", programs: noProgram),
    // Everybody's records go into the own zone, and those are shown unless another zone is named; those of a program are not among its zones.
    "POST /v1/tables/{own}": all("201", programs: noReference),
    "GET /v1/tables/{own}": all("200"),

    // All read a public zone, and its editors write.
    "GET /v1/tables/{public}": answers("200 shown", viewer: "200 shown", editor: "200 shown", stray: "200"),
    "POST /v1/tables/{public}": answers(noRole, viewer: noRole, editor: "201", stray: noReference),
    "PATCH /v1/tables/{public}": answers(
      "200 (403) role-insufficient", viewer: "200 (403) role-insufficient", editor: "200 (200)",
      stray: "200 (404) record-unknown"),
    "DELETE /v1/tables/{public}": answers(
      "200 (403) role-insufficient", viewer: "200 (403) role-insufficient", editor: "200 (200)",
      stray: "200 (204)"),
    "GET /v1/tables/{public}/{id}": answers(
      "200 shown", viewer: "200 shown", editor: "200 shown", stray: unknown),
    "PATCH /v1/tables/{public}/{id}": answers(noRole, viewer: noRole, editor: "200", stray: unknown),
    "PUT /v1/tables/{public}/{id}": answers(
      noRole, viewer: noRole, editor: "200", stray: "409 record-exists"),
    "DELETE /v1/tables/{public}/{id}": answers(noRole, viewer: noRole, editor: "200", stray: "204"),
    "POST /v1/tables/{public}/{id}/restore": answers(noRole, viewer: noRole, editor: "200", stray: unknown),

    // Owners share.
    "GET /v1/tables/members": answers("200", viewer: "200 shown", editor: "200 shown"),
    "POST /v1/tables/members": answers(
      noReference, viewer: noRole, editor: noRole, owner: "201"),
    "PATCH /v1/tables/members": answers(
      "200 (404) record-unknown", viewer: "200 (403) role-insufficient",
      editor: "200 (403) role-insufficient", owner: "200 (200) shown"),
    "DELETE /v1/tables/members": answers(
      "200 (204)", viewer: "200 (403) role-insufficient", editor: "200 (403) role-insufficient",
      owner: "200 (200)"),
    "GET /v1/tables/members/{id}": answers(unknown, viewer: "200 shown", editor: "200 shown"),
    "PATCH /v1/tables/members/{id}": answers(unknown, viewer: noRole, editor: noRole, owner: "200 shown"),
    "PUT /v1/tables/members/{id}": answers(
      "409 record-exists", viewer: noRole, editor: noRole, owner: "200 shown"),
    "DELETE /v1/tables/members/{id}": answers("204", viewer: noRole, editor: noRole, owner: "200"),
    "POST /v1/tables/members/{id}/restore": answers(
      unknown, viewer: noRole, editor: noRole, owner: "200 shown"),

    // Whoever may write the record may choose.
    "GET /v1/tables/conflicts": answers("200", viewer: "200 shown", editor: "200 shown"),
    "PATCH /v1/tables/conflicts": answers(
      "200 (404) record-unknown", viewer: "200 (403) role-insufficient", editor: "200 (200) shown"),
    "GET /v1/tables/conflicts/{id}": answers(unknown, viewer: "200 shown", editor: "200 shown"),
    "PATCH /v1/tables/conflicts/{id}": answers(unknown, viewer: noRole, editor: "200 shown"),
    "POST /v1/tables/conflicts/{id}/resolve": answers(unknown, viewer: noRole, editor: "200 shown"),
  ]
}
