// Reading the answer of a sync request. Pure. docs/PROTOCOL.md, section 3.

import { parse, plain, Raw } from "./json.js";
import { checkAnswer } from "./shapes.js";
import { fromWire, ValueError } from "./values.js";

/**
 * The answer, with the changes of its parts as `{table, id, rev, deleted, columns}`; columns are their text.
 *
 * @throws SyntaxError when it is no answer.
 */
export function parseAnswer(body) {
  const isColumns = (path) => path.length === 5 && path[0] === "zones" && path[2] === "changes" && path[4] === "columns";
  const root = parse(body, { isRaw: isColumns });
  checkAnswer(root);
  const zones = root.get("zones").map((part) => {
    const changes = (part.get("changes") ?? []).map((change) => ({
      table: change.get("table"), id: change.get("id"), rev: change.get("rev"), deleted: change.get("deleted") === true,
      columns: change.get("columns")?.text ?? null,
    }));
    const members = plain(new Map([...part].filter(([name]) => name !== "changes")));
    return { count: 0, remaining: 0, ...members, changes };
  });
  const members = plain(new Map([...root].filter(([name]) => name !== "zones")));
  return { prove: [], awaiting_recovery: [], moved: [], ...members, zones };
}

/**
 * The columns of a change, in the kept form. A column that this schema lacks is left out. One that did not come, or not as this schema has it, has its
 * default or the emptiest value: the server's schema may be another.
 */
export function columnsOf(schema, table, change, renamed) {
  const raw = parse(change.columns, { isRaw: (path) => path.length === 1 });
  const columns = {};
  for (const column of table.columns.values()) columns[column.name] = column.absent;
  for (const [name, value] of raw) {
    const column = columnOf(table, change.table, name, renamed);
    if (!column) continue;
    columns[column.name] = received(column, value);
  }
  return table.name === "conflicts" ? namedHere(schema, columns, renamed) : columns;
}

function received(column, { text }) {
  try {
    const value = fromWire(column, column.type === "json" ? new Raw(text) : parse(text));
    return value === null && column.required ? column.absent : value;
  } catch (error) {
    if (error instanceof ValueError) return column.absent;
    throw error;
  }
}

/** The column here of a name of the server's. @param serverTable the server's name of the table. */
function columnOf(table, serverTable, name, renamed) {
  const former = renamed?.columns?.[serverTable]?.[name] ?? [];
  return table.column(name) ?? table.columns.get(former.find((was) => table.columns.has(was)));
}

/** A conflict with the names that its table and column have here. */
function namedHere(schema, columns, renamed) {
  const table = tableOf(schema, columns.record_table, renamed);
  const column = table && columnOf(table, columns.record_table, columns.column_name, renamed);
  return { ...columns, record_table: table?.name ?? columns.record_table, column_name: column?.name ?? columns.column_name };
}

/** The table here of a name of the server's. */
export function tableOf(schema, name, renamed) {
  const table = schema.called(name);
  if (table) return table;
  const former = (renamed?.tables?.[name] ?? []).find((was) => schema.tables.has(was));
  return former && schema.tables.get(former);
}
