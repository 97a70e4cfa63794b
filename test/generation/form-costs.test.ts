import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Automaton, type State } from "../../src/generation/automaton.ts";
import { everyCodePoint } from "../../src/generation/code-points.ts";
import type { Constraint } from "../../src/generation/constraint.ts";
import { Effort, Remembered } from "../../src/generation/effort.ts";
import { type Forms, formsOf } from "../../src/generation/forms.ts";
import { Writable } from "../../src/generation/grammar.ts";
import { schemaGrammar } from "../../src/generation/json-schema.ts";
import { trainTokenizer } from "../../src/tokens/index.ts";
import { schemas } from "./form-schemas.ts";

// Schemas come from strangers: what one of them takes, in ways and in bytes that are remembered.

const tokenizer = await trainTokenizer("byte", []);
const forms = (): Forms => formsOf({ tokenizer, rows: tokenizer.size, ends: [tokenizer.end as number] });
const has = (mask: Int32Array, id: number): boolean => ((mask[id >> 5] >>> (id & 31)) & 1) === 1;

/** Writes a text, as far as it may be written; and whether it may end there. */
async function write(constraint: Constraint, text: string): Promise<boolean> {
  for (const id of tokenizer.encode(text)) {
    if (!has(await constraint.allowed(), id)) return false;
    constraint.accept(id);
  }
  return has(await constraint.allowed(), tokenizer.end as number);
}

function automatonOf(schema: unknown, memory = new Remembered(1e9)): Automaton {
  const grammar = schemaGrammar(schema);
  return new Automaton(grammar, new Writable(grammar, everyCodePoint), memory);
}

/** Where a text leads to. */
function led(automaton: Automaton, text: string): State | null {
  const effort = new Effort();
  let state: State | null = automaton.start;
  for (const byte of new TextEncoder().encode(text)) state = state && automaton.step(state, byte, effort);
  return state;
}

describe("a long text", () => {
  it("is remembered only as far as it is written", async () => {
    const made = forms();
    const value = "a".repeat(60_000);
    expect(await write(made.schema({ const: value }), '"aaa')).toBe(false);
    expect(made.bytes).toBeLessThan(100_000);
    const many = Array.from({ length: 26 }, (_, i) => String.fromCharCode(97 + i).repeat(2_000));
    const constraint = made.schema({ enum: many });
    expect(await write(constraint, JSON.stringify(many[7]))).toBe(true);
    expect(made.bytes).toBeLessThan(20_000_000);
  });

  it("of an enum is one of its values, whatever they begin with alike, and nothing else", () => {
    const value = fc.oneof(
      fc.string({ unit: fc.constantFrom("a", "b", "é", "😀", "😁", '"'), maxLength: 5 }),
      fc.constantFrom(1, 12, true, null),
    );
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 12 }), value, (among, other) => {
        const automaton = automatonOf({ enum: among });
        for (const one of [...among, other]) expect(led(automaton, JSON.stringify(one))?.complete === true).toBe(among.includes(one));
      }),
      { numRuns: 200 },
    );
  });
});

describe("how many ways there are to go on", () => {
  const strings = (count: number, length: (i: number) => number) => ({
    anyOf: Array.from({ length: count }, (_, i) => ({ type: "string", minLength: length(i) })),
  });

  it("is the same with equal schemas as with one of them", () => {
    const ways = (schema: unknown) => led(automatonOf(schema), '"x')?.ways.length;
    expect(ways(strings(300, () => 9_000))).toBe(ways(strings(1, () => 9_000)));
    expect(ways(strings(2, (i) => 9_000 - i))).toBeGreaterThan(ways(strings(1, () => 9_000)) as number);
  });

  it("is no more with a thousand values than they have different next characters", () => {
    const values = Array.from({ length: 1_000 }, (_, i) => `https://example.com/${i}`);
    expect(led(automatonOf({ enum: values }), '"http')?.ways.length).toBe(1);
    expect(led(automatonOf({ enum: values }), '"https://example.com/')?.ways.length).toBe(10);
  });

  it("is bounded for an answer as a whole, not only for each of its tokens", async () => {
    const made = forms();
    await expect(write(made.schema(strings(300, (i) => 9_000 - i)), `"${"x".repeat(1_000)}`)).rejects.toThrow(
      "make its patterns or its choices simpler",
    );
    expect(await write(made.schema({ type: "string", minLength: 3_000, maxLength: 9_000 }), JSON.stringify("x".repeat(3_000)))).toBe(true);
  });

  it("is enough for hundreds of properties that may be left out, when all of them are there", async () => {
    const names = Array.from({ length: 480 }, (_, i) => `property ${i}`);
    const schema = {
      type: "object",
      properties: Object.fromEntries(names.map((name) => [name, { type: "integer" }])),
      additionalProperties: false,
    };
    expect(await write(forms().schema(schema), JSON.stringify(Object.fromEntries(names.map((name, i) => [name, i]))))).toBe(true);
  });

  it("grows no further where a form has itself inside in several ways", async () => {
    const list = { type: "array", items: { $ref: "#/$defs/a" } };
    const inside = (...lists: unknown[]) => ({
      $defs: { a: { anyOf: [...lists, { type: "string", maxLength: 9_000 }] } },
      $ref: "#/$defs/a",
    });
    const begun = `${"[".repeat(16)}"x`;
    await expect(write(forms().schema(inside(list, { ...list, maxItems: 9 })), begun)).rejects.toThrow(
      "this form can go on in too many ways at once",
    );
    const automaton = automatonOf(inside(list, list));
    expect(led(automaton, begun)?.ways.length).toBe(led(automatonOf(inside(list)), begun)?.ways.length);
  });
});

describe("what is remembered", () => {
  it("of all forms together stays within its bounds, and goes with whoever was used longest ago", async () => {
    const made = forms();
    const anyOf = (k: number) => Array.from({ length: 40 }, (_, i) => ({ type: "string", minLength: 9_000 - 40 * k - i }));
    let most = 0;
    for (let k = 0; k < 12; k++) {
      await write(made.schema({ anyOf: anyOf(k) }), `"${"x".repeat(400)}`);
      most = Math.max(most, made.bytes);
    }
    expect(most).toBeGreaterThan(32 * 2 ** 20);
    expect(most).toBeLessThanOrEqual(64 * 2 ** 20);
  });

  it("is given up by the one that was used longest ago", () => {
    const memory = new Remembered(30);
    const forgot: string[] = [];
    const [a, b, c] = ["a", "b", "c"].map((name) => ({ forget: () => forgot.push(name) }));
    memory.add(a, 10);
    memory.add(b, 10);
    memory.add(c, 10);
    memory.add(a, 0);
    memory.add(c, 5);
    expect([forgot, memory.bytes]).toEqual([["b"], 25]);
    memory.add(c, 100);
    expect([forgot, memory.bytes]).toEqual([["b", "a", "c"], 0]);
  });

  it("changes nothing of what is allowed: with no memory at all it is the same", () => {
    const texts: [schema: unknown, texts: readonly string[]][] = [
      [schemas.nested, ['{"who": {"name":"café","age":12}, "ok":true}', '{"who": {"name":"x","age":131']],
      [schemas["a list inside itself"], ['{"head": 1,"tail": {"head": -2, "tail": null}}']],
      [schemas.lengths, ['{"short":"abcde","long":"abc"}', '{"short":"abcdef']],
      [schemas.formats, ['{"date": "2024-02-28","time":"12:00:00Z"']],
      [schemas.enum, ['{"mood": "so \\"so\\""}', '{"mood": {"x": [1, 2]}}']],
    ];
    for (const [schema, all] of texts)
      for (const text of all) {
        const memory = new Remembered(0);
        const [forgetful, other] = [automatonOf(schema, memory), automatonOf(schema)];
        for (let end = 0; end <= text.length; end++) {
          const [a, b] = [led(forgetful, text.slice(0, end)), led(other, text.slice(0, end))];
          expect([a?.complete, a?.ways.length], text.slice(0, end)).toEqual([b?.complete, b?.ways.length]);
        }
        expect(memory.bytes).toBe(0);
      }
  });
});
