// The vectors of Tests/Vectors, which the server's own functions made.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as bytes from "../src/bytes.js";
import { derivedIdentifier, makeIdentifier } from "../src/identifiers.js";
import { parse, plain, Raw, write } from "../src/json.js";
import { combined } from "../src/merge.js";
import { sealedOperation } from "../src/operations.js";
import { isPosition, positionBetween, positionRun } from "../src/position.js";
import { Schema } from "../src/schema.js";
import { differences } from "../src/text-difference.js";
import { numbered, tokens } from "../src/text-merge.js";
import * as time from "../src/time.js";
import { checkValue, fromWire } from "../src/values.js";

const word = (text) => BigInt("0x" + text);

/** Runs each case of a file through the function that is for its members. */
function check(name, functions) {
  const text = readFileSync(new URL(`../../../Tests/Vectors/${name}.json`, import.meta.url), "utf8");
  const cases = plain(parse(text)).cases;
  assert.ok(cases.length > 0);
  for (const vector of cases) {
    const member = Object.keys(functions).find((member) => member in vector);
    assert.ok(member, `no function for ${write(vector)}`);
    functions[member](vector);
  }
}

test("edits of one column merge as on the server (I7)", () => {
  check("merges", {
    policy: (vector) => {
      const { policy, base, mine, theirs, mine_prevails: minePrevails, result } = vector;
      const found = combined(policy, base, mine, theirs, minePrevails);
      const expected = result && { value: result.value, isLossy: result.lossy };
      assert.deepEqual(found, expected, write(vector));
    },
  });
});

test("texts are cut into the same tokens, and differ in the same stretches (I7)", () => {
  check("texts", {
    stretches: (vector) => {
      const sides = [tokens(vector.base), tokens(vector.own)];
      if (vector.base_tokens) {
        assert.deepEqual(sides[0].map(({ text }) => text), vector.base_tokens);
        assert.deepEqual(sides[1].map(({ text }) => text), vector.own_tokens);
      }
      const found = differences(...numbered(sides));
      assert.deepEqual(found, vector.stretches.map(({ base, own }) => ({ base, own })), write(vector));
    },
  });
});

test("positions are made alike, and the same texts are refused (I7)", () => {
  check("positions", {
    between: (vector) => {
      const { left, right, replica, nonce } = vector;
      assert.equal(positionBetween(left, right, replica, word(nonce)), vector.between, write(vector));
    },
    run: ({ run, replica, nonce, positions }) => {
      assert.deepEqual(positionRun(run, null, null, replica, word(nonce)), positions);
    },
    position: ({ position, valid }) => assert.equal(isPosition(position), valid, position),
  });
});

test("clocks, times and ids are those of the server", () => {
  check("stamps", {
    clock: (vector) => {
      const { clock, milliseconds, next } = vector;
      assert.equal(time.nextStamp(clock, Number(milliseconds)), next, write(vector));
      assert.equal(time.stampMilliseconds(clock), Number(vector.clock_milliseconds));
    },
    stamp: ({ stamp, valid }) => assert.equal(time.isStamp(stamp), valid, stamp),
    id: ({ milliseconds, random, id }) => assert.equal(makeIdentifier(milliseconds, random.map(word)), id),
    derived: ({ names, derived }) => assert.equal(derivedIdentifier(names), derived),
    valid: ({ timestamp, valid }) => assert.equal(time.isTimestamp(timestamp), valid, timestamp),
    timestamp: ({ milliseconds, timestamp }) => assert.equal(time.timestamp(milliseconds), timestamp),
  });
});

test("chains, fingerprints and digests are those of the server", () => {
  check("chains", {
    change_sets: ({ change_sets: sets, chains }) => {
      let chain = bytes.chainBeginning;
      sets.forEach((set, index) => {
        chain = bytes.chained(chain, set);
        assert.equal(chain, chains[index]);
      });
    },
    text: ({ text, fingerprint }) => assert.equal(bytes.fingerprint(text), fingerprint),
    acks: ({ acks, digest }) => assert.equal(bytes.ackDigest(Object.entries(acks)), digest),
  });
});

test("JSON is read as strictly, and written in the same bytes", () => {
  const table = new Schema({
    holdfast: 1, name: "vectors",
    tables: {
      things: {
        zone: "user",
        columns: {
          name: { type: "text" }, count: { type: "integer" }, done: { type: "boolean" }, tags: { type: "json" },
          at: { type: "timestamp" }, parent: { type: "text" },
        },
      },
    },
  }).table("things");
  check("json", {
    written: ({ text, written }) => {
      if (written === null) assert.throws(() => parse(text), text);
      else assert.equal(write(parse(text)), written);
    },
    sealed: (vector) => {
      // The vectors have booleans as numbers.
      const kept = (pairs) => new Map(pairs.map(([name, value]) =>
        [name, table.columns.get(name).type === "boolean" && value !== null ? value === 1 : value]));
      const operation = { ...vector, table, columns: kept(vector.columns), base: kept(vector.base) };
      assert.equal(`[${sealedOperation(operation)}]`, vector.sealed);
    },
  });
});

test("columns take and refuse the same values", () => {
  check("values", {
    column: ({ column, value, problem }) => {
      const others = { zone: "root", columns: { title: { type: "text" } } };
      const things = { zone: "root", columns: { c: JSON.parse(write(column)) } };
      if (typeof column.max === "bigint") things.columns.c.max = undefined;
      const schema = new Schema({ holdfast: 1, name: "vectors", tables: { things, others } });
      const definition = schema.table("things").columns.get("c");
      definition.maximum = column.max;
      let found = null;
      try {
        let read;
        try {
          read = parse(value, { isRaw: (path) => column.type === "json" && path.length === 0 });
        } catch {
          found = "malformed-json";
        }
        if (read instanceof Raw && read.text === "null") read = null;
        if (!found) checkValue(definition, fromWire(definition, read));
      } catch (error) {
        found = error.code;
      }
      assert.equal(found, problem, `${value} in ${write(column)}`);
    },
  });
});
