import Holdfast

/// What a search finds in the catalogue.
struct CatalogueHit: Decodable, Sendable {
  let kind: String
  let code: String
  let name: String
  /// For subdivisions and currencies, the name of their country.
  let country: String?

  /// Finds codes that are the text, and names that have it in them, names that begin with it first.
  static func search(_ text: String, limit: Int64, _ database: Database) throws -> [CatalogueHit] {
    var pattern = ""
    for character in text {
      if "%_\\".contains(character) { pattern.append("\\") }
      pattern.append(character)
    }
    return try database.fetch(
      CatalogueHit.self, query, [.text(text), .text("%\(pattern)%"), .text("\(pattern)%"), .integer(limit)])
  }

  private static let query = """
    SELECT kind, code, name, country FROM (
      SELECT 'country' AS kind, code, coalesce(common_name, name) AS name, NULL AS country,
        name || ' ' || coalesce(official_name, '') || ' ' || coalesce(common_name, '') AS searched, code3 AS other
      FROM countries
      UNION ALL
      SELECT 'subdivision', s.code, s.name, c.name, s.name, '' FROM subdivisions s JOIN countries c ON c.id = s.country_id
      UNION ALL
      SELECT 'language', code, name, NULL, name || ' ' || coalesce(common_name, ''), coalesce(code2, '') FROM languages
      UNION ALL
      SELECT 'currency', y.code, y.name, c.name, y.name, '' FROM currencies y LEFT JOIN countries c ON c.id = y.country_id
    )
    WHERE code = ?1 COLLATE NOCASE OR other = ?1 COLLATE NOCASE OR searched LIKE ?2 ESCAPE '\\'
    ORDER BY (code = ?1 COLLATE NOCASE) DESC, (name LIKE ?3 ESCAPE '\\') DESC, kind, name, code LIMIT ?4
    """

  var json: JSONValue {
    .object([
      .init("kind", .string(kind)), .init("code", .string(code)), .init("name", .string(name)),
      .init("country", JSONValue(country)),
    ])
  }
}
