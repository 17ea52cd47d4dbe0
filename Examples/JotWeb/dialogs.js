// Signing in, sharing, and what waits for a person: invitations, conflicts, refused edits.

import { ask, attempt, count, element, engine, make, say, store, tabs, write } from "./page.js";

const roles = { viewer: "may read", editor: "may read and write", owner: "owner" };
const offers = { viewer: "You may read it", editor: "You may read and write it", owner: "You own it, too," };

function field(label, properties) {
  return make("label", {}, label, make("input", properties));
}

/** The sign-in of a page that has no account yet, or whose session has ended. What is typed into it stays while the account is the same. */
export function showWelcome() {
  const { name } = store.account;
  if (element("welcome").hasChildNodes() && element("welcome").dataset.name === String(name)) return;
  element("welcome").dataset.name = name;
  const form = make("form", {
    onsubmit: (event) => {
      event.preventDefault();
      const isNew = event.submitter?.value === "new";
      const { name, password } = form.elements;
      attempt(async () => {
        await (isNew ? engine.signUp : engine.signIn).call(engine, name.value.trim(), password.value, "Jot on the web");
        await tabs.sync();
      });
    },
  },
  make("h2", { textContent: name ? `Sign in again, ${name}` : "Lists that work without a network" }),
  make("p", { textContent: name ? "The session has ended. Nothing on this device is lost." : "Sign in, or make an account." }),
  field("Name", { name: "name", required: true, value: name ?? "", autocomplete: "username", autocapitalize: "none", spellcheck: false }),
  field("Password", { name: "password", type: "password", required: true, minLength: 8, autocomplete: "current-password" }),
  make("div", { className: "buttons" },
    make("button", { type: "submit", className: "primary", value: "in", textContent: "Sign in" }),
    name ? null : make("button", { type: "submit", value: "new", textContent: "Make an account" })));
  element("welcome").replaceChildren(form);
}

/** The account. */
export function showAccount() {
  const { name, isSignedIn } = store.account;
  ask(name ?? "Account", (close) => [
    make("p", { textContent: `${count(store.waitingOperations, "edit")} not sent yet.` }),
    make("form", {
      onsubmit: async (event) => {
        event.preventDefault();
        const token = event.target.elements.token.value.trim();
        await attempt(async () => {
          await engine.request("POST", "v1/invitations/accept", { token });
          close();
          await tabs.sync();
          say("The list is yours to see now.");
        });
      },
    }, field("Invitation", { name: "token", required: true, placeholder: "Paste what you were sent", autocomplete: "off" }),
    make("button", { type: "submit", textContent: "Accept" })),
    isSignedIn ? make("div", { className: "buttons" }, make("button", {
      type: "button", className: "danger", textContent: "Sign out, and remove the lists from this device",
      onclick: () => attempt(async () => {
        await engine.signOut({ erases: true });
        close();
        location.hash = "";
      }),
    })) : null,
  ].filter(Boolean));
}

/** Who has a list. */
export function showSharing(list) {
  const show = () => ask("Share the list", () => {
    const members = store.all("members", { where: { zone: list }, order: ["name"] });
    const role = make("select", { name: "role", "aria-label": "What they may do" },
      ...Object.entries(roles).map(([value, text]) => make("option", { value, textContent: text, selected: value === "editor" })));
    return [
      make("ul", { className: "people" }, ...members.map((member) => make("li", {},
        make("span", { textContent: member.name ?? member.group ?? member.user }),
        make("span", { className: "quiet", textContent: member.invited_by ? "invited" : roles[member.role] }),
        make("button", {
          type: "button", textContent: member.user === store.account.user ? "Leave" : "Remove",
          onclick: async () => {
            if (await write((db) => db.delete("members", member.id))) show();
          },
        })))),
      make("form", {
        onsubmit: async (event) => {
          event.preventDefault();
          const name = event.target.elements.name.value.trim();
          if (await write((db) => db.insert("members", { zone: list, name, role: role.value }))) show();
        },
      }, field("Name", { name: "name", required: true, autocapitalize: "none", autocomplete: "off", spellcheck: false }), role,
      make("button", { type: "submit", className: "primary", textContent: "Share" })),
      make("button", {
        type: "button", textContent: "Make an invitation",
        onclick: (event) => attempt(async () => {
          const { token } = await engine.request("POST", `v1/zones/${encodeURIComponent(list)}/invitations`, { role: role.value });
          const shown = make("input", { readOnly: true, value: token, "aria-label": "Invitation" });
          event.target.replaceWith(make("p", { textContent: "Send this to one person. It is valid for 7 days." }), shown);
          shown.select();
        }),
      }),
    ];
  });
  show();
}

/** What a column has, for a person. */
function shown(value) {
  if (value === null || value === undefined) return "nothing";
  if (typeof value === "string") return `“${value}”`;
  if (typeof value === "bigint") return String(value);
  return Array.isArray(value) ? value.join(", ") : JSON.stringify(value);
}

/** The invitations that wait, and who is invited; they are asked for with each look. */
let asked = { user: null, memberships: [] };
/** How many looks there were, and which of them `asked` is from. */
const looks = { begun: 0, shown: 0 };

/** Asks the server who wants to share lists. */
export async function lookForInvitations() {
  const { isSignedIn, user } = store.account;
  if (!isSignedIn) return;
  const look = looks.begun += 1;
  try {
    const { memberships } = await engine.request("GET", "v1/memberships");
    // Answers may overtake each other.
    if (look < looks.shown) return;
    looks.shown = look;
    asked = { user, memberships };
  } catch {
    // Without a network they wait.
  }
  updateInbox();
}

/** The invitations of the person who is signed in. */
function openInvitations() {
  return store.account.isSignedIn && store.account.user === asked.user ? asked.memberships : [];
}

/** Conflicts that can be answered. Of a record that is deleted there is nothing to choose, other than to bring it back. */
function openConflicts() {
  return store.all("conflicts", { order: ["loser_at"] }).filter(({ resolution, policy, record_table: table, record_id: id }) =>
    resolution === null && policy !== "restore" && (policy === "delete" || store.get(table, id)));
}

/** All that waits for the person. */
function waiting() {
  return [...openInvitations().map(invitation), ...openConflicts().map(conflict), ...store.quarantined().filter(({ because }) => because === null).map(refused)];
}

/** Shows how much waits for the person. */
export function updateInbox() {
  const { length } = waiting();
  const inbox = element("inbox");
  inbox.hidden = length === 0;
  inbox.textContent = String(length);
  inbox.setAttribute("aria-label", `${count(length, "thing")} to look at`);
  if (element("dialog").open && element("dialog").dataset.is === "inbox") showInbox();
}

/** Invitations, conflicts and refused edits. */
export function showInbox() {
  const cards = waiting();
  if (cards.length === 0) return element("dialog").close();
  ask("To look at", () => cards);
  element("dialog").dataset.is = "inbox";
}

function card(title, text, ...buttons) {
  return make("article", { className: "card" }, make("h3", { textContent: title }), make("p", { textContent: text }), make("div", { className: "buttons" }, ...buttons));
}

function button(textContent, onclick, className = "") {
  return make("button", { type: "button", textContent, onclick, className });
}

function invitation({ id, title, role, invited_by: by }) {
  const answer = (method, path) => attempt(async () => {
    await engine.request(method, path);
    await lookForInvitations();
    await tabs.sync();
  });
  return card(`${by?.name ?? "Somebody"} shares ${title ? `“${title}”` : "a list"}`, `${offers[role]} when you accept.`,
    button("Accept", () => answer("POST", `v1/memberships/${id}/accept`), "primary"),
    button("Decline", () => answer("DELETE", `v1/memberships/${id}`)));
}

function conflict(entry) {
  const record = store.get(entry.record_table, entry.record_id);
  const name = record?.title ?? "A deleted record";
  const choose = (choice) => () => write((db) => db.resolve(entry.id, choice));
  if (entry.policy === "delete") {
    return card(name, `It was deleted while ${entry.column_name} was changed to ${shown(entry.loser_value)}.`,
      button("Bring it back", choose("loser"), "primary"), button("Leave it deleted", choose("winner")));
  }
  const isQuestion = entry.policy === "ask";
  return card(isQuestion ? `Which ${entry.column_name}?` : `${name}: two edits of ${entry.column_name}`,
    `It was ${shown(entry.base)}. One device made it ${shown(entry.winner_value)}, another ${shown(entry.loser_value)}.`,
    button(`Keep ${shown(entry.winner_value)}`, choose("winner"), "primary"), button(`Take ${shown(entry.loser_value)}`, choose("loser")));
}

function refused({ number, problem, operations }) {
  const words = operations.map(({ op, table, id, columns }) => {
    const name = columns.title ?? store.get(table, id)?.title ?? "a record";
    const values = Object.entries(columns).filter(([, value]) => value !== null && typeof value !== "object").map(([column, value]) => `${column} ${shown(value)}`);
    return `${op} ${shown(name)}${op === "update" ? `: ${values.join(", ")}` : ""}`;
  });
  const title = problem.code === "role-insufficient" ? "You may not do this here" : problem.title ?? problem.code;
  return card(title, `${words.slice(0, 3).join("; ")}${words.length > 3 ? ` and ${words.length - 3} more` : ""}. ${problem.detail ?? ""}`,
    button("Try again", () => attempt(() => store.resend(number)), "primary"), button("Discard", () => attempt(() => store.discard(number)), "danger"));
}
