// The views of what keeps the server going: schema, retention, backups, the doctor and the audit log.

import { duration, element, facts, link, nextPage, number, state, table, time } from "./elements.js";

const days = (seconds) => seconds >= 172800 ? `${number(Math.round(seconds / 86400))} days` : seconds >= 7200 ? `${number(Math.round(seconds / 3600))} hours` : duration(seconds);

const targets = { revoke: "devices", reset: "devices", grant: "zones", refuse: "zones", member: "zones" };

function entries(rows, caption) {
  return table(caption, [
    ["Time", (row) => time(row.at)], ["Action", (row) => state(row.action)],
    ["Target", (row) => targets[row.action] && !row.target.includes(" ") ? link(row.target, targets[row.action], row.target) : row.target || "–"],
    ["Detail", (row) => row.detail], ["Operator", (row) => row.operator], ["Node", (row) => row.node], ["Address", (row) => row.address || "–"],
  ], rows);
}

export default {
  async schema(get, { post }) {
    const schema = await get("schema");
    const text = element("textarea", { id: "new-schema", rows: 10, spellcheck: "false", required: true });
    const file = element("input", { id: "schema-file", type: "file", accept: ".json,application/json" });
    const result = element("div", { "aria-live": "polite" });
    file.addEventListener("change", async () => { if (file.files[0]) text.value = await file.files[0].text(); });
    const form = element("form", { class: "paste" },
      element("h2", {}, "What would a change do?"),
      element("p", { class: "quiet" }, "Nothing is changed. It is what ", element("code", {}, "holdfast schema diff"), " and ", element("code", {}, "holdfast serve --check"), " print."),
      element("label", { for: "schema-file" }, "A schema file"), file,
      element("label", { for: "new-schema" }, "Or its text"), text, element("button", { class: "primary" }, "Compare"));
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      try {
        const found = await post("schema", text.value);
        result.replaceChildren(element("h2", {}, "Result: ", state({ none: "no change", safe: "safe", removes: "removes", impossible: "impossible" }[found.verdict])), element("pre", { class: "answer", tabindex: 0, role: "region", "aria-label": "What the change does" }, found.text));
      } catch (error) {
        result.replaceChildren(element("p", { class: "failure" }, error.message));
      }
    });
    return ["Schema", [
      facts([["Name", schema.name], ["Version", schema.version || null], ["Oldest version of apps", schema.oldest_version || null], ["Tables", number(schema.tables.length)]]),
      table("Tables", [
        ["Table", (row) => row.table], ["Columns", (row) => row.columns.join(", ")],
      ], schema.tables),
      form, result,
      element("details", {}, element("summary", {}, "The schema in force, with all that is implied"), element("pre", { class: "answer", tabindex: 0, role: "region", "aria-label": "Schema" }, schema.text)),
    ]];
  },

  async retention(get) {
    const kept = await get("retention");
    const { zones } = await get("zones");
    return ["Retention", [
      kept.clock ? element("p", { class: "answer" }, kept.clock) : null,
      facts([["Passes of this node", number(kept.passes)], ["Last pass of this node", kept.last_pass ? time(kept.last_pass) : "none yet"]]),
      table("What is kept, and for how long", [
        ["What", (row) => row.what], ["Kept for", (row) => days(row.seconds)], ["Until", (row) => row.until],
      ], kept.kept),
      table("Purge horizons: the first zones by name", [
        ["Zone", (row) => link(row.zone, "zones", row.zone)], ["Seq", (row) => number(row.seq), true], ["Purged up to", (row) => number(row.purged), true],
        ["Seqs that may hold tombstones", (row) => number(row.seq - row.purged), true],
      ], zones),
      element("p", { class: "quiet" }, "The page of a zone names the device that keeps its tombstones. A pass of one node is enough for all."),
    ]];
  },

  async backups(get, { after }) {
    const page = await get("backups", { after });
    const last = page.entries.find((entry) => entry.action === "backup");
    const age = last ? (Date.now() - Date.parse(last.at)) / 1000 : 0;
    return ["Backups", [
      element("p", { class: "answer" }, after ? "Older backups." : !last
        ? "No backup is known. Backups are written by holdfast backup, each day by its timer, and noted here."
        : `The last backup is ${days(age)} old${age > 129600 ? ": older than a day and a half. Look at the timer and its log" : ""}.`),
      entries(page.entries, "Backups of this database, the newest first"),
      nextPage(page, "backups"),
      element("p", { class: "quiet" }, "A backup in a folder is read back to its end before it counts as verified. ", element("code", {}, "holdfast backup --verify FILE"), " does it again."),
    ]];
  },

  async doctor(get, { post, again, show }) {
    const found = await get("doctor");
    const isRunning = found.state === "running";
    const button = element("button", { type: "button", class: "primary", disabled: isRunning }, "Run the doctor");
    button.addEventListener("click", async () => {
      button.disabled = true;
      await post("doctor");
      show("The doctor is running.");
    });
    if (isRunning) again();
    const results = {
      never: () => "The doctor has not run since this node started.",
      running: () => "The doctor is running. On a large database that takes minutes.",
      failed: () => `The doctor could not end its work: ${found.reason}`,
      done: () => found.count === 0 ? "All is well." : `${number(found.count)} ${found.count === 1 ? "finding" : "findings"}. Keep a copy of the database.`,
    };
    return ["Doctor", [
      element("p", { class: "answer", role: "status" }, results[found.state]()),
      element("p", {}, button),
      found.state === "done" ? facts([["Began", time(found.since)], ["Ended", time(found.until)]]) : null,
      found.state === "done" ? table("Findings", [["Finding", (text) => text]], found.findings) : null,
      element("p", { class: "quiet" }, "It reads the whole database, once at a time on each node, and changes nothing. ", element("code", {}, "holdfast doctor --repair"), " mends what can be mended."),
    ]];
  },

  async audit(get, { after }) {
    const page = await get("audit", { after });
    return ["Audit log", [
      entries(page.entries, "Actions of operators, the newest first"),
      nextPage(page, "audit"),
      element("p", { class: "quiet" }, "Actions of the console and of the command line, on all nodes, for 400 days."),
    ]];
  },
};
