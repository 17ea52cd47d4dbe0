import HoldfastCore
import HoldfastService

extension PostgresTriggers {
  /// Refuses, of the rows that a statement has written, a value of a column with the policy `set` that is no array of texts: an app reads it as one.
  /// It is no check of the table, as the policy of a column may change. Empty for a table without such columns.
  func checkSets(_ index: Int) -> String {
    zip(schema.tables[index].columns, relations[index].columns).filter { $0.0.policy == .set }
      .map { definition, column in
        let value = "n.\(column.quoted)::jsonb"
        return """
            IF EXISTS (SELECT FROM holdfast_new n WHERE jsonb_typeof(\(value)) NOT IN ('array', 'null')
              OR jsonb_path_exists(\(value), 'strict $[*] ? (@.type() != "string")', silent => true)) THEN
              RAISE EXCEPTION '\(schema.tables[index].name).\(definition.name) is a set: it takes a JSON array of texts'
                USING ERRCODE = 'check_violation';
            END IF;

          """
      }.joined()
  }
}
