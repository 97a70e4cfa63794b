import { describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import type { Constraint } from "../../src/generation/constraint.ts";
import { type Forms, formsOf } from "../../src/generation/forms.ts";
import { trainTokenizer } from "../../src/tokens/index.ts";
import { loadTokenizer } from "../../src/tokens/load.ts";
import { tokenBytes } from "../../src/tokens/token-bytes.ts";
import type { Tokenizer } from "../../src/tokens/tokenizer.ts";
import { kinds } from "../tokens/foreign-kinds.ts";
import { schemas } from "./form-schemas.ts";
import { valid } from "./valid-by-schema.ts";

const ascii = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join("");
const text = `${ascii} {"name": "naïve", "猫": [1, 2.5, true, false, null]} äöü€\n`.repeat(3);

const writers: Record<string, () => Promise<Tokenizer> | Tokenizer> = {
  ...Object.fromEntries(["char", "byte", "bpe", "unigram"].map((kind) => [kind, () => trainTokenizer(kind as "char", [text])])),
  ...Object.fromEntries(
    ["gpt2", "qwen", "pythia", "llama2", "mistral", "gemma"].map((name) => [name, () => loadTokenizer(kinds[name], name)]),
  ),
};

const has = (mask: Int32Array, id: number): boolean => ((mask[id >> 5] >>> (id & 31)) & 1) === 1;
const endsOf = ({ end }: Tokenizer): number[] => [end as number];
/** More scores than tokens, as models have whose size was rounded up. */
const rowsOf = ({ size }: Tokenizer): number => size + 45;
const formsWith = (tokenizer: Tokenizer): Forms => formsOf({ tokenizer, rows: rowsOf(tokenizer), ends: endsOf(tokenizer) });

/** A model that knows nothing: it draws among what is allowed, and now and then among what closes something, so that it comes to an end. */
async function written(tokenizer: Tokenizer, constraint: Constraint, seed: number, most = 400): Promise<string | undefined> {
  const bytes = tokenBytes(tokenizer);
  const closes = bytes.map((part) => part?.every((byte) => '"}]'.includes(String.fromCharCode(byte))));
  const [end] = endsOf(tokenizer);
  const draws = chance(seed);
  const ids: number[] = [];
  for (let i = 0; i < most; i++) {
    const mask = await constraint.allowed();
    const allowed = Array.from({ length: 32 * mask.length }, (_, id) => id).filter((id) => has(mask, id));
    expect(allowed.length, `something may always follow: ${tokenizer.decode(ids)}`).toBeGreaterThan(0);
    expect(allowed.at(-1)).toBeLessThan(tokenizer.size);
    const closing = allowed.filter((id) => id === end || closes[id]);
    const from = closing.length > 0 && draws.uniform(2 * i) < 0.3 ? closing : allowed;
    const id = from[Math.floor(draws.uniform(2 * i + 1) * from.length)];
    constraint.accept(id);
    if (id === end) return tokenizer.decode(ids);
    expect(bytes[id], "special tokens are never allowed").toBeDefined();
    ids.push(id);
  }
  return undefined;
}

describe("every answer that ends is valid by its schema", () => {
  for (const [name, make] of Object.entries(writers)) {
    it(name, { timeout: 120_000 }, async () => {
      const tokenizer = await make();
      const forms = formsWith(tokenizer);
      let finished = 0;
      for (const [label, schema] of Object.entries(schemas)) {
        for (let seed = 0; seed < 12; seed++) {
          const constraint = forms.schema(schema);
          const answer = await written(tokenizer, constraint, seed);
          constraint.release();
          if (answer === undefined) continue;
          expect(valid(JSON.parse(answer), schema), `${label}: ${answer}`).toBe(true);
          finished++;
        }
      }
      for (let seed = 0; seed < 12; seed++) {
        const answer = await written(tokenizer, forms.json(), seed);
        if (answer !== undefined) expect(JSON.parse(answer)).toBeTypeOf("object");
      }
      expect(finished).toBeGreaterThan(0.8 * 12 * Object.keys(schemas).length);
    });
  }
});

describe("what is allowed is exact", () => {
  it("a token is allowed if and only if the answer can go on after its bytes", async () => {
    const tokenizer = await trainTokenizer("bpe", [text], { vocab: 400 });
    const constraint = formsWith(tokenizer).schema(schemas.nested);
    const begun = '{"who": {"name":"caf';
    for (const id of tokenizer.encode(begun)) constraint.accept(id);
    const mask = await constraint.allowed();
    const bytes = tokenBytes(tokenizer);
    const fits = (rest: string): boolean => /^[^"\p{Cc}]*("(,( ?("(a(g(e)?)?)?)?)?)?)?$/u.test(rest);
    for (let id = 2; id < tokenizer.size; id++) {
      const piece = new TextDecoder().decode(bytes[id]);
      if (/[\\\ufffd\x7f]/.test(piece)) continue;
      expect(has(mask, id), piece).toBe(fits(piece));
    }
  });

  it("after a closed object nothing but an end is allowed, and before it never an end", async () => {
    const tokenizer = await trainTokenizer("byte", []);
    const forms = formsWith(tokenizer);
    const constraint = forms.schema(schemas.string, [1, 7]);
    const allowed = async () => {
      const mask = await constraint.allowed();
      return Array.from({ length: rowsOf(tokenizer) }, (_, id) => id).filter((id) => has(mask, id));
    };
    expect(await allowed()).toEqual([...tokenizer.encode(" {")]);
    for (const id of tokenizer.encode('{"name":"x"}')) {
      expect(await allowed()).not.toContain(1);
      constraint.accept(id);
    }
    expect(await allowed()).toEqual([1, 7]);
    constraint.accept(7);
    expect(await allowed()).toEqual([1, 7]);
  });

  it("half characters are written where bytes are tokens, and a character is always ended", async () => {
    const tokenizer = await trainTokenizer("byte", []);
    const constraint = formsWith(tokenizer).json();
    for (const id of tokenizer.encode('{"é')) constraint.accept(id);
    const [first, second] = tokenizer.encode("é");
    constraint.accept(first);
    const mask = await constraint.allowed();
    expect([has(mask, second), has(mask, tokenizer.encode('"')[0]), has(mask, first)]).toEqual([true, false, false]);
  });
});

describe("what a schema says is what is held to", () => {
  const cases: [schema: unknown, text: string, is: boolean][] = [
    [{ type: "number", minimum: 1e-20 }, "0", false],
    [{ type: "number", minimum: 1e-20 }, "0.00000000000001", true],
    [{ type: "number", maximum: 1e-20 }, "0", true],
    [{ type: "number", maximum: -1e-20 }, "0", false],
    [{ type: "number", exclusiveMinimum: 0, maximum: 1e-20 }, "0.00000000000000000001", true],
    [{ type: "number", minimum: 1.23456789012e-7 }, "0.000000123456789", false],
    [{ type: "number", exclusiveMinimum: Math.PI }, "3.1415926535897931", false],
    [{ type: "number", exclusiveMinimum: Math.PI }, "3.1416", true],
    [{ type: "number", exclusiveMaximum: 0.30000000000000004 }, "0.300000000000000039", false],
    [{ type: "number", minimum: 0.1234567890123456, maximum: 0.1234567890123456 }, "0.1234567890123456", true],
    [{ type: "string", pattern: "^[^\\uD83D\\uDE00]$" }, '"😀"', false],
    [{ type: "string", pattern: "^[^\\uD83D\\uDE00]$" }, '"😁"', true],
    [{ type: "string", pattern: "^\\ud83d\\ude00$" }, '"😀"', true],
    [{ type: "string", pattern: "^[\\uD83D\\uDE00-\\uD83D\\uDE02]$" }, '"😁"', true],
    [{ type: "string", pattern: "^\\x41\\u00e9$" }, '"Aé"', true],
  ];
  it.each(cases)("%j, %s: %s", async (schema, answer, is) => {
    const tokenizer = await trainTokenizer("byte", []);
    const constraint = formsWith(tokenizer).schema(schema);
    const can = async (id: number): Promise<boolean> => has(await constraint.allowed(), id);
    for (const id of tokenizer.encode(answer)) {
      if (!(await can(id))) return expect(is, "it may not go on").toBe(false);
      constraint.accept(id);
    }
    expect(await can(tokenizer.end as number)).toBe(is);
  });
});

describe("tokenizers that cannot write a form are refused before anything is written", () => {
  const refused = async (tokenizer: Tokenizer, schema: unknown = schemas.string): Promise<string> => {
    try {
      formsWith(tokenizer).schema(schema);
    } catch (error) {
      return (error as Error).message;
    }
    return "";
  };
  it("characters that were not in the text that they learned from are named", async () => {
    expect(await refused(await trainTokenizer("char", ["no braces: name"]))).toContain('it has no tokens that add "{" "\\"" "}" to a text');
    const most = await trainTokenizer("char", ['{"": a name}']);
    expect(await refused(most)).toBe("");
    expect(await refused(most, { type: "object", properties: { naïve: { type: "null" } }, required: ["naïve"] })).toContain('"ï" "v"');
  });
  it("what is optional is left out where it cannot be written", async () => {
    const tokenizer = await trainTokenizer("char", ['{"": a name,12}']);
    const schema = { type: "object", properties: { ö: { type: "integer" }, a: { type: ["integer", "boolean"] } } };
    for (let seed = 0; seed < 20; seed++) {
      const answer = await written(tokenizer, formsWith(tokenizer).schema(schema), seed);
      expect(answer).toMatch(/^ ?\{("a": ?-?[12]+)?\}$/);
    }
  });
  it("those that put a space before every word or sign cannot write names as they are", async () => {
    for (const kind of ["word", "wordpiece"] as const)
      expect(await refused(await trainTokenizer(kind, [text])), kind).toContain("and nothing else, as a space before");
    for (const name of ["bertUncased", "t5"])
      expect(await refused(loadTokenizer(kinds[name], name)), name).toContain("cannot write answers of this form");
  });
  it("a model without an end of texts is told so", async () => {
    const tokenizer = await trainTokenizer("byte", []);
    expect(() => formsOf({ tokenizer, rows: 258, ends: [] }).json()).toThrow("has no token that ends a text");
  });
});

describe("a schema that cannot be held to is refused by name", () => {
  const forms = async () => formsWith(await trainTokenizer("byte", []));
  const deep = (levels: number): unknown => (levels === 0 ? {} : { type: "array", items: deep(levels - 1) });
  const cases: Record<string, [schema: unknown, said: string]> = {
    ...Object.fromEntries(
      [
        "not",
        "if",
        "oneOf",
        "dependentRequired",
        "uniqueItems",
        "contains",
        "multipleOf",
        "patternProperties",
        "propertyNames",
        "minProperties",
        "maxProperties",
        "unevaluatedProperties",
        "nullable",
        "additionalItems",
        "contentEncoding",
        "$anchor",
        "toString",
      ].map((keyword) => [keyword, [{ type: "object", [keyword]: 1 }, `the keyword "${keyword}" is not supported`]]),
    ),
    "no schema": [7, "a schema is an object, not 7"],
    nothing: [undefined, "a schema is an object"],
    "a list": [[], "a schema is an object, not []"],
    false: [false, "allows nothing at all"],
    "an unknown type": [{ type: "banana" }, 'the type "banana" is none of object'],
    "a keyword of another type": [{ type: "integer", minLength: 3 }, "minLength says nothing about integer; it is for string"],
    "a reference to nowhere": [{ $ref: "#/$defs/x" }, "leads to #/$defs/x, and there is nothing"],
    "a reference elsewhere": [{ $ref: "https://example.com/x" }, "$ref is a place in the same schema"],
    "a reference into a prototype": [{ $ref: "#/__proto__" }, "and there is nothing"],
    "a reference to itself": [{ $ref: "#" }, "leads to itself"],
    "references in a circle": [
      { $defs: { a: { anyOf: [{ $ref: "#/$defs/b" }] }, b: { $ref: "#/$defs/a" } }, $ref: "#/$defs/a" },
      "leads to itself",
    ],
    "an object that has itself inside": [
      { type: "object", properties: { a: { $ref: "#" } }, required: ["a"] },
      "no answer of this form ever ends",
    ],
    "siblings of anyOf": [{ anyOf: [{ type: "string" }], minLength: 3 }, "anyOf is not supported together with minLength"],
    "several allOf": [{ allOf: [{}, {}] }, "allOf of more than one schema is not supported"],
    "bounds that exclude everything": [{ type: "integer", minimum: 5, maximum: 1 }, "no number is within its bounds"],
    "bounds with nothing between": [
      { type: "number", exclusiveMinimum: 1, exclusiveMaximum: 1.0000000000000002 },
      "no number is within its bounds",
    ],
    "bounds without a whole number": [{ type: "integer", minimum: 0.2, maximum: 0.8 }, "no whole number is within its bounds"],
    "a bound that is no number": [{ type: "number", minimum: "3" }, "minimum is a number"],
    "a large bound": [{ type: "integer", maximum: 1e300 }, "maximum is a number of at most 15 digits"],
    "too many items": [{ type: "array", minItems: 1e9 }, "minItems is a whole number from 0 to 10000"],
    "negative items": [{ type: "array", minItems: -4 }, "minItems is a whole number from 0 to 10000"],
    "items in no order": [{ type: "array", minItems: 4, maxItems: 3 }, "minItems is more than maxItems"],
    "a broken pattern": [{ type: "string", pattern: "(" }, 'the pattern "(" is no regular expression'],
    "a look ahead": [{ type: "string", pattern: "(?=a)b" }, "looks ahead or behind"],
    "a back reference": [{ type: "string", pattern: "(a)\\1" }, "has \\1, which is not known here"],
    "a property of Unicode": [{ type: "string", pattern: "\\p{L}" }, "has \\p, which is not known here"],
    "a boundary": [{ type: "string", pattern: "a\\b" }, "has \\b, which is not known here"],
    "too many repetitions": [
      { type: "string", pattern: "(a{100}){100}" },
      "has 10000 characters, counted as often as they may be repeated; 128 is the most",
    ],
    "half a character": [{ type: "string", pattern: "^[\\uD83D]$" }, "has \\uD83D, which is half of a character"],
    "the other half": [{ type: "string", pattern: "\\uDE00\\uD83D" }, "has \\uDE00, which is half of a character"],
    "half a character as it is": [{ type: "string", pattern: "\ud83d" }, "has half of a character"],
    "a class of nothing": [{ type: "string", pattern: "^[]$" }, "there is no answer of this form: a part of it allows nothing"],
    "repetitions of nothing": [{ type: "string", pattern: "(a*)*" }, "repeats something that may be empty"],
    "an end in the middle": [{ type: "string", pattern: "a$b" }, "has a $ that is not at its end"],
    "an unknown format": [{ type: "string", format: "color" }, 'the format "color" is none of date, time'],
    "a pattern with a length": [{ type: "string", pattern: "a", maxLength: 3 }, "of a length, a pattern and a format"],
    "an empty enum": [{ enum: [] }, "enum is a list of values"],
    "a required name that may not be": [
      { type: "object", properties: {}, required: ["a"], additionalProperties: false },
      '"a" is required',
    ],
    "too deep": [deep(30), "inside each other more than 24 deep"],
    "a deep value": [{ const: JSON.parse("[".repeat(3_000) + "]".repeat(3_000)) }, "more than 128 lists and objects deep"],
    "too long": [{ description: "x".repeat(70_000) }, "more than the 64000 that one may have"],
    "too many": [{ anyOf: Array.from({ length: 2_000 }, (_, i) => ({ const: i })) }, "more than 500 schemas in it"],
    "too large": [
      { type: "array", prefixItems: Array.from({ length: 450 }, (_, i) => ({ type: "number", minimum: -i - 0.123, maximum: i + 0.456 })) },
      "this form is too large",
    ],
    "a long enum": [{ enum: Array.from({ length: 1_001 }, (_, i) => i) }, "the enums of the schema have more than 1000 values"],
  };
  for (const [name, [schema, said]] of Object.entries(cases)) {
    it(name, async () => {
      const made = await forms();
      expect(() => made.schema(schema)).toThrow(said);
      try {
        made.schema(schema);
      } catch (error) {
        expect(error).toMatchObject({ name: "ConfigError", path: expect.stringMatching(/^response_format/) });
      }
    });
  }
});

it("a form that goes on in ever more ways is refused when it does, and nobody else waits for it", async () => {
  const tokenizer = await trainTokenizer("byte", []);
  const forms = formsWith(tokenizer);
  const list = { type: "array", items: { $ref: "#/$defs/a" } };
  const constraint = forms.schema({ $defs: { a: { anyOf: [list, { ...list, maxItems: 3 }, { type: "null" }] } }, $ref: "#/$defs/a" });
  const open = async (): Promise<void> => {
    for (let i = 0; i < 40; i++) {
      await constraint.allowed();
      constraint.accept(tokenizer.encode("[")[0]);
    }
  };
  await expect(open()).rejects.toThrow("this form can go on in too many ways at once");
  expect(await written(tokenizer, forms.schema(schemas.string), 1)).toBeDefined();
});

it("what was refused or given back leaves nothing behind: the next answers are as the first", async () => {
  const tokenizer = await trainTokenizer("byte", []);
  const forms = formsWith(tokenizer);
  const first = await written(tokenizer, forms.schema(schemas.nested), 3);
  for (let i = 0; i < 1_000; i++) {
    const constraint = forms.schema({ type: "object", properties: { [`key ${i % 40}`]: { type: "string", maxLength: i % 50 } } });
    await constraint.allowed();
    constraint.release();
    expect(() => forms.schema({ type: "banana" })).toThrow("banana");
  }
  expect(await written(tokenizer, forms.schema(schemas.nested), 3)).toBe(first);
});
