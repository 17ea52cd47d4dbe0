// The views: each reads one address of /console/api and gives its title and content.

import { actionButton } from "./actions.js";
import charts from "./charts.js";
import { bytes, duration, element, facts, form, link, milliseconds, nextPage, number, state, table, time } from "./elements.js";
import operations from "./operations.js";

const user = (value) => value ? link(value.name, "users", value.id) : "–";
const device = (value) => value ? link(value.name, "devices", value.id) : "–";
const zone = (name) => link(name, "zones", name);
const record = (id) => link(id, "records", id);

/** A count of a device's zones; of a device with very many, it is not of all. */
const atLeast = (row, count) => `${number(count)}${row.complete ? "" : " or more"}`;

const search = (name, label, value, go) => form([["search", label, value]], "Search", ({ search }) => go(name, search));

const views = {
  ...operations,
  charts,

  async server(get) {
    const [server, { items }] = await Promise.all([get("server"), get("attention")]);
    const { process, requests, change_sets: sets } = server;
    const refused = sets.refused.reduce((sum, { count }) => sum + count, 0);
    const memory = process ? [
      ["Uptime", duration(process.uptime_seconds)], ["Memory", bytes(process.resident_bytes)],
      ["Processor time", duration(process.cpu_seconds)], ["Open files", number(process.open_files)],
    ] : [];
    const disk = server.disk ? [["Free disk space", `${bytes(server.disk.free_bytes)} of ${bytes(server.disk.size_bytes)}`]] : [];
    return ["Server", [
      items.length === 0 ? element("p", { class: "answer" }, "Nothing needs attention.") : element("section", { class: "answer", id: "attention" },
        element("h2", {}, "Needs attention"), element("ul", {}, items.map(({ view, text }) => element("li", {}, text, " ", view === "server" ? "" : element("a", { href: `#/${view}` }, `See ${view}`))))),
      facts([
        ["Version", server.version], ["Engine", server.engine], ["Epoch", server.epoch],
        ["Schema", server.schema.version ? `${server.schema.name}, version ${server.schema.version}` : server.schema.name], ...disk, ...memory,
        ["Event streams", number(server.event_streams)], ["Snapshots", bytes(server.snapshot_bytes)],
        ["Requests", number(requests.count)], ["Failed requests (5xx)", number(requests.failures)],
        ["Applied change sets", number(sets.applied)], ["Refused change sets", number(refused)],
        ["Conflicts", number(sets.conflicts)], ["Dropped log lines", number(server.dropped_log_lines)],
      ]),
      table("Queues", [["Queue", (row) => row.queue.replace("_", " ")], ["Waiting jobs", (row) => number(row.waiting), true]], server.queues),
      table("Commits since the start", [
        ["Lane", ([lane]) => lane], ["Transactions", ([, row]) => number(row.count), true],
        ["Mean", ([, row]) => milliseconds(row.mean_ms), true], ["99 of 100 within", ([, row]) => milliseconds(row.p99_ms), true],
      ], Object.entries(server.commits)),
      table("Requests since the start", [
        ["Route", (row) => row.route], ["Method", (row) => row.method], ["Status", (row) => row.status, true],
        ["Count", (row) => number(row.latency.count), true], ["Mean", (row) => milliseconds(row.latency.mean_ms), true],
        ["99 of 100 within", (row) => milliseconds(row.latency.p99_ms), true],
      ], requests.routes),
      table("Problems since the start", [
        ["Problem", (row) => row.problem], ["Answers", (row) => number(row.count), true],
      ], requests.problems),
      table("Refused change sets since the start", [
        ["Problem", (row) => row.problem], ["Change sets", (row) => number(row.count), true],
      ], sets.refused),
      element("p", { class: "quiet" }, "All figures are of this node, since its process started. Figures of other nodes are in their own consoles."),
    ]];
  },

  async log(get) {
    const { lines, warnings } = await get("log");
    const listing = (caption, lines) => table(caption, [
      ["Time", (line) => time(line.time)], ["Level", (line) => state(line.level ?? "")], ["Event", (line) => line.event],
      ["Message", ({ time, level, event, message, ...rest }) => message ?? element("pre", {}, Object.entries(rest).map(([key, value]) => `${key}=${value}`).join("  "))],
    ], lines);
    return ["Log", [
      listing("Warnings and errors of this node, the newest first", warnings), listing("All lines of this node, the newest first", lines),
    ]];
  },

  async users(get, { id, after, go }) {
    const page = await get("users", { search: id, after });
    return ["Users", [
      search("users", "A name, its beginning, or an id", id, go),
      table(id ? `Users for “${id}”` : "Users by name", [
        ["Name", (row) => row.name], ["Id", (row) => link(row.id, "users", row.id)], ["Created", (row) => time(row.created)],
        ["Devices", (row) => element("a", { href: `#/devices/?search=${encodeURIComponent(row.id)}` }, `${row.devices}, ${row.signed_in} signed in`)],
        ["Last seen", (row) => time(row.last_seen)],
      ], page.users),
      nextPage(page, "users", ...id ? [id] : []),
    ]];
  },

  async devices(get, { id, search: text, after, go, act }) {
    if (id) return views.device(get, id, after, act);
    const page = await get("devices", { search: text, after });
    return ["Devices", [
      form([["search", "Id of a device or user, or a name's beginning", text]], "Search",
        ({ search }) => go("devices", "", { search })),
      table(text ? `Devices for “${text}”` : "Devices", [
        ["Device", device], ["User", (row) => user(row.user)], ["Session", (row) => state(row.session)],
        ["Last seen", (row) => time(row.last_seen)], ["App", (row) => row.app || "–"],
        ["Zones", (row) => atLeast(row, row.zones), true],
        ["Zones behind", (row) => row.zones_behind ? element("span", { class: "mark warm" }, atLeast(row, row.zones_behind)) : atLeast(row, 0), true],
        ["Changes behind", (row) => atLeast(row, row.changes_behind), true],
      ], page.devices),
      page.next ? element("p", {}, element("a", { href: `#/devices/?search=${encodeURIComponent(text ?? "")}&after=${page.next}` }, "Next page")) : null,
      element("p", { class: "quiet" }, "“Last seen” is noted when a device writes, and once a day. Changes are an upper bound."),
    ]];
  },

  async device(get, id, after, act) {
    const shown = await get(`devices/${encodeURIComponent(id)}`, { after });
    return [`Device ${shown.name}`, [
      shown.note ? element("p", { class: "answer" }, shown.note) : null,
      facts([
        ["Id", element("span", { class: "id" }, shown.id)], ["User", user(shown.user)], ["Session", state(shown.session)], ["Last seen", time(shown.last_seen)],
        ["App", shown.app || null], ["Operations", number(shown.operations)], ["Number in the log", number(shown.number)],
      ]),
      act && element("p", { class: "actions" },
        shown.session === "signed out" ? null : actionButton("Sign out", `${shown.name} of ${shown.user.name} is signed out. It keeps its unsent edits until its user signs in on it again.`,
          () => act({ action: "revoke", device: id })),
        actionButton("Resync", `${shown.name} of ${shown.user.name} fetches all its zones again with its next sync. Its unsent edits stay.`,
          () => act({ action: "reset", device: id }))),
      table("Zones of the device and its user", [
        ["Zone", (row) => zone(row.zone)], ["Role", (row) => row.role ?? "–"], ["State", (row) => state(row.state)],
        ["Has up to", (row) => number(row.acked), true], ["Zone's seq", (row) => number(row.seq), true],
        ["Why", (row) => row.reason],
        ...act ? [["Action", (row) => actionButton("Resync zone", `${shown.name} of ${shown.user.name} fetches the zone ${row.zone} again with its next sync. Its unsent edits stay.`,
          () => act({ action: "reset", device: id, zone: row.zone }))]] : [],
      ], shown.zones),
      nextPage(shown, "devices", id),
      refusals(shown.refusals, false),
      element("p", {}, element("a", { href: `#/records/?device=${encodeURIComponent(id)}` }, "Why does this device not show a record?")),
    ]];
  },

  async zones(get, { id, after, search: text, go }) {
    if (id) return views.zone(get, id, after);
    const page = await get("zones", { search: text, after });
    return ["Zones", [
      form([["search", "The name of a zone, or its beginning", text]], "Search", ({ search }) => go("zones", "", { search })),
      table(text ? `Zones for “${text}”` : "Zones by name", [
        ["Zone", (row) => zone(row.zone)], ["Public", (row) => row.public ? "yes" : "no"],
        ["Records", (row) => number(row.records), true], ["Size", (row) => bytes(row.bytes), true],
        ["Seq", (row) => number(row.seq), true], ["Purged up to", (row) => number(row.purged), true],
      ], page.zones),
      page.next ? element("p", {}, element("a", { href: `#/zones/?search=${encodeURIComponent(text ?? "")}&after=${encodeURIComponent(page.next)}` }, "Next page")) : null,
    ]];
  },

  async zone(get, id, after) {
    const shown = await get(`zones/${encodeURIComponent(id)}`, { after });
    return [`Zone ${shown.zone}`, [
      facts([
        ["Public", shown.public ? "yes" : "no"], ["Records", number(shown.records)], ["Size", bytes(shown.bytes)], ["Seq", number(shown.seq)],
        ["Purged up to", number(shown.purged)], ["Seq at the last restore", shown.restored ? number(shown.restored) : null],
      ]),
      table("Users who may read the zone, by members and groups", [
        ["User", (row) => user(row.user)], ["Role", (row) => row.role],
        ["Devices", (row) => element("a", { href: `#/devices/?search=${encodeURIComponent(row.user.id)}` }, "show")],
      ], shown.members),
      nextPage(shown, "zones", id),
      element("p", { class: "answer" }, shown.held_by
        ? [device(shown.held_by), " of ", user(shown.held_by.user), ` keeps the zone's tombstones after seq ${shown.held_by.acked}: it may still need them.`]
        : "No device keeps tombstones of the zone."),
      table("Devices that have the zone, the furthest behind first", [
        ["Device", device], ["User", (row) => user(row.user)], ["State", (row) => state(row.state)],
        ["Has up to", (row) => number(row.acked), true], ["Last seen", (row) => time(row.last_seen)],
        ["Counts for the purge horizon", (row) => row.live ? "yes" : "no, it was away for too long"],
      ], shown.devices),
    ]];
  },

  async records(get, { id, device: shownOn, go }) {
    const ask = form([["id", "Id of the record", id], ["device", "Id of a device that does not show the record", shownOn]], "Look up",
      ({ id, device }) => go("records", id, { device }));
    if (!id) return ["Records", [ask]];
    const found = await get(`records/${encodeURIComponent(id)}`, { device: shownOn });
    return ["Records", [
      ask,
      found.answer ? element("p", { class: "answer", id: "answer" }, found.answer) : null,
      table("Where the record is, and was", [
        ["Table", (row) => row.table], ["Zone", (row) => zone(row.zone)], ["State", (row) => state(row.state)],
        ["Seq", (row) => number(row.seq), true], ["Rev", (row) => number(row.rev), true],
      ], found.places),
      table("Who changed it last", [
        ["Time", (row) => time(row.at)], ["Change", (row) => row.what], ["Table", (row) => row.table],
        ["User", (row) => user(row.user)], ["Device", (row) => row.device ? device(row.device) : "the server, or a program in SQL"],
      ], found.changes),
      conflicts(found.conflicts),
    ]];
  },

  async conflicts(get, { after }) {
    const page = await get("conflicts", { after });
    return ["Conflicts", [conflicts(page.conflicts), nextPage(page, "conflicts")]];
  },

  async recovery(get, { act }) {
    const found = await get("recovery");
    const [zoneOf, userOf, stateOf] = ["zone", "user", "state"].map((name) => (row) => row[found.claims.columns.indexOf(name)]);
    const decide = (row) => stateOf(row) === "granted" ? "" : element("p", { class: "actions" },
      actionButton("Grant", `${userOf(row)} becomes the owner of the zone ${zoneOf(row)}, and the user's devices upload it. This cannot be taken back.`,
        () => act({ action: "grant", zone: zoneOf(row), user: userOf(row) })),
      stateOf(row) === "refused" ? null : actionButton("Refuse", `The devices of ${userOf(row)} drop the zone ${zoneOf(row)}. Records that the user could write go to quarantine on them.`,
        () => act({ action: "refuse", zone: zoneOf(row), user: userOf(row) })));
    const listing = (caption, { columns, rows, count }, more = []) => [
      table(caption, [...columns.map((name, index) => [name, (row) => row[index]]), ...more], rows),
      count > rows.length ? element("p", { class: "quiet" }, `${number(count - rows.length)} more: holdfast restore --report prints all.`) : null,
    ];
    return ["Recovery", [
      element("p", { class: "quiet" }, "After a restore of the database devices upload what it lacks. An operator decides claims by ",
        element("code", {}, "holdfast restore --grant"), " or ", element("code", {}, "--refuse"), "."),
      ...listing("Recovery claims of zones that the database does not know", found.claims, act ? [["Action", decide]] : []),
      ...listing("Zones of which devices have seen more than the database has", found.missing),
    ]];
  },

  async refusals(get, { after }) {
    const page = await get("refusals", { after });
    return ["Refusals", [refusals(page.refusals, true), nextPage(page, "refusals")]];
  },
};

function conflicts(rows) {
  const side = ({ value, user: person, at }) => [element("pre", {}, value ?? "–"), " ", person ? user(person) : "", " ", at ? time(at) : ""];
  return table("Concurrent edits, with both values, the newest first", [
    ["Record", (row) => [row.table, " ", record(row.record)]], ["Zone", (row) => zone(row.zone)], ["Column", (row) => row.column], ["Policy", (row) => row.policy],
    ["Winner", (row) => side(row.winner)], ["Loser", (row) => side(row.loser)], ["Resolution", (row) => state(row.resolution)],
  ], rows);
}

function refusals(rows, isOfAll) {
  const people = isOfAll ? [["User", (row) => user(row.user)], ["Device", (row) => device(row.device)]] : [];
  return table("Refused change sets that a device has not dealt with", [
    ...people, ["Operations", (row) => row.first === row.last ? row.first : `${row.first} to ${row.last}`, true],
    ["At fault", (row) => number(row.operation), true], ["Problem", (row) => row.problem], ["Detail", (row) => row.detail],
  ], rows);
}

export default views;
