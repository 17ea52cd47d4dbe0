// The forms that answers of the server must have. Pure. docs/PROTOCOL.md, sections 2 and 3.
//
// A form is a function that tells whether a value of `parse` has it. Members that are unknown here are those of a newer server.

import { isWellFormed, utf8Length } from "./bytes.js";
import { isPossibleIdentifier } from "./identifiers.js";
import { Raw } from "./json.js";
import { isStamp } from "./time.js";

const isText = (value) => typeof value === "string";
const isFlag = (value) => typeof value === "boolean";
/** A count, or the number of an operation. */
const isCount = (value) => Number.isSafeInteger(value) && value >= 0;
const isName = (value) => isText(value) && isPossibleIdentifier(value);
const isFingerprint = (value) => isText(value) && /^[0-9a-f]{16}$/.test(value);

const isShort = (value) => isText(value) && utf8Length(value) <= 64;

const greatestSeq = 2n ** 63n - 1n;

/** Whether a text is a change token: an epoch and a seq; of a download in parts also the purge horizon beyond it, or -1. */
export function isChangeToken(text) {
  const match = /^[0-9a-f]{8}\.(0|[1-9]\d{0,18})(?:\.(-1|[1-9]\d{0,18}))?$/.exec(text);
  if (!match) return false;
  const [seq, purged] = [BigInt(match[1]), BigInt(match[2] ?? -1)];
  return seq <= greatestSeq && purged <= greatestSeq && (purged === -1n || purged > seq);
}

/** Whether a value may be a proof, which goes back to the server as it is. */
export function isProof(value) {
  return isText(value) && utf8Length(value) <= 1000;
}

const list = (form) => (value) => Array.isArray(value) && value.every(form);
const mapOf = (form) => (value) => value instanceof Map && [...value.values()].every(form);
const pair = (first, second) => (value) => Array.isArray(value) && value.length === 2 && first(value[0]) && second(value[1]);

/** A form of objects. It gives the name of the first member that is wrong, or is required and missing; undefined when there is none. */
function membersOf(required, optional = {}) {
  const entries = [...Object.entries(required), ...Object.entries(optional).map(([name, form]) => [name, (value) => value === undefined || form(value)])];
  return (value) => entries.find(([name, form]) => !form(value.get(name)))?.[0];
}

function object(required, optional) {
  const wrong = membersOf(required, optional);
  return (value) => value instanceof Map && wrong(value) === undefined;
}

/** A form that depends on a member which is true. */
const either = (name, ifTrue, ifNot) => (value) => value instanceof Map && (value.get(name) === true ? ifTrue : ifNot)(value);

const problem = object({ code: isText });
const isColumns = (value) => value instanceof Raw && value.text.startsWith("{");
const record = { table: isText, id: isName, rev: isCount };
const change = either("deleted", object(record), object({ ...record, columns: isColumns }, { deleted: isFlag }));
const isPart = object(
  { zone: isName, role: isShort, from: isText, to: isText, changes: list(change) },
  { count: isCount, remaining: isCount, more: isFlag, reset: isFlag },
);
/** A part for which the answer had no room has the token of before, which is none at the beginning of a zone. */
const hasToken = (part) => isChangeToken(part.get("to")) || (part.get("more") === true && part.get("to") === part.get("from"));
const part = either("reset", object({ zone: isName }, { restored: isFlag }), (value) => isPart(value) && hasToken(value));

const wrongInAnswer = membersOf({
  clock: (value) => isText(value) && isStamp(value), confirmed: isCount, chain: isFingerprint,
  refused: list(object({ first: isCount, last: isCount, operation: isCount, problem })),
  resend: isFlag, zones: list(part), lost: list(isName),
}, {
  proof: isProof, proofs: (value) => mapOf(isProof)(value) && [...value.keys()].every(isName), prove: list(isName),
  awaiting_recovery: list(object({ zone: isName }, { unknown: isFlag, until: isCount })),
  moved: list(object({ zone: isName, database: isShort })),
  recovered: object({ count: isCount }, { refused: list(object({ index: isCount, problem })) }),
  schema: isShort, renamed: object({}, { tables: mapOf(list(isText)), columns: mapOf(mapOf(list(isText))) }),
});

const sets = list(pair(isCount, isFingerprint));
const isUserName = (value) => isText(value) && isWellFormed(value) && value !== "" && [...value].length <= 64 && !value.includes("\0");
/** What goes into a header. */
const isToken = (value) => isText(value) && /^[!-~]{1,4096}$/.test(value);
const isSession = { user: object({ id: isName, name: isUserName }), device: object({ id: isName, session: isCount }) };
const applied = { applied: object({ from: isCount, sets }, { refused: sets }) };
const wrongInSession = membersOf({ ...isSession, token: isToken }, applied);
const wrongInCookieSession = membersOf({ ...isSession, token_id: isToken }, applied);

function check(value, wrong, what) {
  const name = value instanceof Map ? wrong(value) : "object";
  if (name !== undefined) throw new SyntaxError(`The server's answer is no ${what}: "${name}" is missing or has a wrong form.`);
}

/** @throws SyntaxError when a value of `parse` is no answer of a sync. */
export function checkAnswer(value) {
  check(value, wrongInAnswer, "answer of a sync");
}

/** @param usesCookie whether the browser keeps the token. @throws SyntaxError when a value of `parse` is no session. */
export function checkSession(value, usesCookie) {
  check(value, usesCookie ? wrongInCookieSession : wrongInSession, "session");
}
