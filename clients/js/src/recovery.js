// Records that a restored server has lost, and this device has. docs/RESTORING.md, section 4.

import { utf8Length } from "./bytes.js";
import { write } from "./json.js";
import { sealedOperation } from "./operations.js";
import { Quarantine } from "./quarantine.js";
import { numberKey } from "./state.js";
import { stampOf } from "./time.js";
import { toWire } from "./values.js";
import { Zones } from "./zones.js";

const countLimit = 500;
const sizeLimit = 1 << 20;
const ranks = { viewer: 1, editor: 2, owner: 3 };

/** The records of a draft that are to be uploaded. */
export class Recovery {
  constructor(draft, schema) {
    this.draft = draft;
    this.schema = schema;
  }

  /** Notes the server's copy of a record, when the user's role may write it. @param role in its zone. */
  note(table, record, role) {
    if (table.name === "conflicts" || (ranks[role] ?? 0) < ranks[table.recoveryRole]) return;
    const { device } = this.draft;
    // Parents come first.
    const key = `${String(this.schema.depth(table.name)).padStart(3, "0")} ${numberKey(device.nextPage)}`;
    this.draft.put("recovered", key, { table: table.name, ...record });
    this.draft.device = { ...device, nextPage: device.nextPage + 1 };
  }

  isEmpty() {
    return this.draft.isEmpty("recovered");
  }

  /** The next records, `{key, text}`. */
  next(limit) {
    const found = [];
    let size = 0;
    const entries = [...this.draft.entries("recovered")].sort(([left], [right]) => (left < right ? -1 : 1));
    for (const [key, { table: name, id, zone, rev, columns }] of entries) {
      if (found.length >= Math.min(limit, countLimit) || size > sizeLimit) break;
      const table = this.schema.table(name);
      const values = Object.fromEntries(Object.entries(columns).map(([column, value]) => [column, toWire(table.columns.get(column), value)]));
      const text = write({ table: name, id, zone, rev, columns: values });
      size += utf8Length(text);
      found.push({ key, text });
    }
    return found;
  }

  /**
   * The server has processed records of a request.
   *
   * @param keys of the records that it had, in order.
   * @param refused `{index, problem}`; these go to quarantine, and their zones come again.
   * @returns how many were refused.
   */
  settle(keys, refused, now) {
    for (const { index, problem } of refused) {
      const entry = this.draft.get("recovered", keys[index]);
      if (!entry) continue;
      const operation = {
        op: "create", table: this.schema.table(entry.table), id: entry.id, at: stampOf(now), columns: Object.entries(entry.columns),
        zone: entry.table === "members" ? entry.zone : undefined,
      };
      new Quarantine(this.draft, this.schema).add(`[${sealedOperation(operation)}]`, 0, problem, now);
      new Zones(this.draft, this.schema).begin(entry.zone);
    }
    for (const key of keys) this.draft.delete("recovered", key);
    return refused.length;
  }
}
