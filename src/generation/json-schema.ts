import { ConfigError } from "../base/errors.ts";
import { choice, empty, type Grammar, later, optional, sequence, text } from "./grammar.ts";
import {
  anyBoolean,
  anyInteger,
  anyNumber,
  anyObject,
  anyString,
  anyValue,
  colon,
  comma,
  listOf,
  nothing,
  oneOf,
  otherName,
  quoted,
  stringOfLength,
} from "./json-grammar.ts";
import { beside, integersBetween, numbersBetween } from "./number-range.ts";
import { formats, patternOf, UnknownPattern } from "./string-pattern.ts";

// A JSON schema as a grammar of the answers that it allows, or of some of them: nothing is written that the schema does not allow, so a
// keyword that is not known here is refused and never passed over. Schemas come from strangers: they are bounded before anything is made.

type Schema = Readonly<Record<string, unknown>>;

const place = "response_format.json_schema.schema";
const longestSchema = 64_000;
const longestName = 256;
const mostSchemas = 500;
const mostValues = 1_000;
const deepestSchema = 24;
const deepestJson = 128;
const mostTimes = 10_000;
const mostOfPatterns = 500;
const largest = 1e15;

/** They say nothing about an answer. */
const remarks = [
  "$schema",
  "$id",
  "$comment",
  "$defs",
  "definitions",
  "title",
  "description",
  "default",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly",
];

const typeNames = ["object", "array", "string", "number", "integer", "boolean", "null"] as const;
type TypeName = (typeof typeNames)[number];

const bounds = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
const keywords: Readonly<Record<TypeName, readonly string[]>> = {
  object: ["properties", "required", "additionalProperties"],
  array: ["items", "prefixItems", "minItems", "maxItems"],
  string: ["minLength", "maxLength", "pattern", "format"],
  number: bounds,
  integer: bounds,
  boolean: [],
  null: [],
};
const aroundTypes = ["type", "enum", "const", "anyOf", "allOf", "$ref"];

/** The answers of a schema. What it has that cannot be held to is refused by name. */
export function schemaGrammar(schema: unknown): Grammar {
  const length = lengthOf(schema);
  if (length > longestSchema)
    throw refusal(place, `the schema has ${length} characters, more than the ${longestSchema} that one may have`, "config.range");
  if (isDeeper(schema, deepestJson)) throw refusal(place, `the schema is more than ${deepestJson} lists and objects deep`, "config.range");
  const reader = new Reader(schema);
  return reader.whole();
}

/** Level by level: whoever goes down by himself needs a stack. */
function isDeeper(value: unknown, most: number): boolean {
  let level = [value];
  for (let depth = 0; depth < most; depth++)
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
  return level.some((one) => typeof one === "object" && one !== null);
}

function lengthOf(schema: unknown): number {
  try {
    return JSON.stringify(schema)?.length ?? 0;
  } catch (error) {
    throw refusal(place, "the schema is no JSON", "config.type", error);
  }
}

const refusal = (
  at: string,
  said: string,
  code: "config" | "config.range" | "config.type" | "config.unknown-key" | "config.conflict",
  cause?: unknown,
) => new ConfigError(said, { code, at, path: place, ...(cause !== undefined && { cause }) });

class Reader {
  readonly #root: unknown;
  readonly #named = new Map<string, Grammar>();
  #count = 0;
  #patterns = 0;
  #valueCount = 0;

  constructor(root: unknown) {
    this.#root = root;
  }

  whole(): Grammar {
    const read = this.#read(this.#root, place, 0);
    // A name that leads back to itself without anything to write between has no beginning.
    for (const [name, node] of this.#named)
      if (leadsTo((node as Grammar & { kind: "later" }).node(), node))
        throw refusal(place, `$ref ${name.slice(0, 60)} leads to itself`, "config.conflict");
    return read;
  }

  #read(given: unknown, at: string, depth: number): Grammar {
    if (given === true) return anyValue;
    if (given === false) throw refusal(at, "the schema false allows nothing at all", "config.conflict");
    if (typeof given !== "object" || given === null || Array.isArray(given))
      throw refusal(at, `a schema is an object, not ${JSON.stringify(given)?.slice(0, 40)}`, "config.type");
    if (++this.#count > mostSchemas) throw refusal(at, `the schema has more than ${mostSchemas} schemas in it`, "config.range");
    if (depth > deepestSchema) throw refusal(at, `schemas are inside each other more than ${deepestSchema} deep`, "config.range");
    const schema = given as Schema;
    const own = Object.keys(schema).filter((key) => !remarks.includes(key));
    const alone = (keyword: string): void => {
      const beside = own.filter((key) => key !== keyword && key !== "type");
      if (beside.length > 0 || (keyword === "$ref" && own.length > 1))
        throw refusal(
          at,
          `${keyword} is not supported together with ${[...beside, ...own].find((key) => key !== keyword)}`,
          "config.conflict",
        );
    };
    if ("$ref" in schema) {
      alone("$ref");
      return this.#reference(schema.$ref, at, depth);
    }
    if ("anyOf" in schema || "allOf" in schema) {
      const keyword = "anyOf" in schema ? "anyOf" : "allOf";
      alone(keyword);
      if ("type" in schema) throw refusal(at, `${keyword} is not supported together with type`, "config.conflict");
      return this.#several(keyword, schema[keyword], at, depth);
    }
    if ("enum" in schema || "const" in schema) {
      alone("enum" in schema ? "enum" : "const");
      return this.#values("enum" in schema ? schema.enum : [schema.const], schema, at);
    }
    const types = this.#types(schema, own, at);
    this.#knows(own, types, at);
    return choice(...types.map((type) => this.#typed(type, schema, at, depth)));
  }

  #knows(own: readonly string[], types: readonly TypeName[], at: string): void {
    const known = [...aroundTypes, ...types.flatMap((type) => keywords[type])];
    const unknown = own.find((key) => !known.includes(key));
    if (unknown === undefined) return;
    const elsewhere = typeNames.filter((type) => keywords[type].includes(unknown));
    if (elsewhere.length > 0)
      throw refusal(
        at,
        `${unknown} says nothing about ${types.join(" or ") || "every type"}; it is for ${elsewhere.join(" and ")}`,
        "config.conflict",
      );
    const cure = unknown === "oneOf" ? "; anyOf is, where an answer need not fit only one" : "";
    throw refusal(at, `the keyword ${JSON.stringify(unknown.slice(0, 40))} is not supported${cure}`, "config.unknown-key");
  }

  /** The types that a schema names; where it names none, the one that its keywords are about, or all. */
  #types(schema: Schema, own: readonly string[], at: string): readonly TypeName[] {
    if ("type" in schema) {
      const types = Array.isArray(schema.type) ? schema.type : [schema.type];
      const wrong = types.find((type) => !(typeNames as readonly unknown[]).includes(type));
      if (wrong !== undefined || types.length === 0)
        throw refusal(at, `the type ${JSON.stringify(wrong ?? schema.type)} is none of ${typeNames.join(", ")}`, "config.type");
      const distinct = [...new Set(types as TypeName[])];
      return distinct.includes("number") ? distinct.filter((type) => type !== "integer") : distinct;
    }
    const about = (["object", "array", "string"] as const).filter((type) => own.some((key) => keywords[type].includes(key)));
    if (about.length > 0) return about;
    if (own.some((key) => bounds.includes(key))) return ["number"];
    return typeNames.filter((type) => type !== "integer");
  }

  #typed(type: TypeName, schema: Schema, at: string, depth: number): Grammar {
    if (type === "object") return this.#object(schema, at, depth);
    if (type === "array") return this.#array(schema, at, depth);
    if (type === "string") return this.#string(schema, at);
    if (type === "integer") return this.#integer(schema, at);
    if (type === "number") return this.#number(schema, at);
    return type === "boolean" ? anyBoolean : nothing;
  }

  #several(keyword: string, given: unknown, at: string, depth: number): Grammar {
    if (!Array.isArray(given) || given.length === 0) throw refusal(at, `${keyword} is a list of schemas`, "config.type");
    if (keyword === "allOf" && given.length > 1) throw refusal(at, "allOf of more than one schema is not supported", "config.conflict");
    const texts = given.map((one) => JSON.stringify(one));
    const distinct = [...given.entries()].filter(([i]) => texts.indexOf(texts[i]) === i); // or both would be gone on with, place by place
    return choice(...distinct.map(([i, one]) => this.#read(one, `${at}.${keyword}[${i}]`, depth + 1)));
  }

  #values(given: unknown, schema: Schema, at: string): Grammar {
    if (!Array.isArray(given) || given.length === 0) throw refusal(at, "enum is a list of values", "config.type");
    this.#valueCount += given.length;
    if (this.#valueCount > mostValues) throw refusal(at, `the enums of the schema have more than ${mostValues} values`, "config.range");
    const types = "type" in schema ? this.#types(schema, [], at) : undefined;
    const fitting = types ? given.filter((value) => types.some((type) => isOf(value, type))) : given;
    if (fitting.length === 0) throw refusal(at, "no value of enum or const is of the type that is asked for", "config.conflict");
    return oneOf(fitting);
  }

  #reference(given: unknown, at: string, depth: number): Grammar {
    if (typeof given !== "string" || !/^#(\/|$)/.test(given))
      throw refusal(at, `$ref is a place in the same schema, like #/$defs/name, not ${JSON.stringify(given)?.slice(0, 60)}`, "config");
    const known = this.#named.get(given);
    if (known) return known;
    let found: unknown = this.#root;
    for (const part of given.split("/").slice(1)) {
      const name = decoded(part, at).replaceAll("~1", "/").replaceAll("~0", "~");
      const inside = typeof found === "object" && found !== null && Object.hasOwn(found, name);
      if (!inside) throw refusal(at, `$ref leads to ${given.slice(0, 60)}, and there is nothing`, "config");
      found = (found as Schema)[name];
    }
    const node = later(() => read);
    this.#named.set(given, node);
    const read = this.#read(found, at, depth + 1);
    return node;
  }

  #object(schema: Schema, at: string, depth: number): Grammar {
    const { properties = {}, required = [], additionalProperties: more } = schema;
    if (!isObject(properties)) throw refusal(at, "properties is an object of schemas", "config.type");
    if (!Array.isArray(required) || required.some((name) => typeof name !== "string"))
      throw refusal(at, "required is a list of names", "config.type");
    const unnamed = (required as string[]).filter((name) => !Object.hasOwn(properties, name));
    if (more === false && unnamed.length > 0)
      throw refusal(at, `${JSON.stringify(unnamed[0].slice(0, 40))} is required, and not among the properties`, "config.conflict");
    const names = [...Object.keys(properties), ...new Set(unnamed)];
    if (names.length === 0 && more === undefined) return anyObject;
    const pairs = names.map((name) => {
      const inner = Object.hasOwn(properties, name) ? properties[name] : (more ?? true);
      const value = this.#read(inner, `${at}.properties.${name.slice(0, 40)}`, depth + 1);
      return { pair: sequence(text(JSON.stringify(name)), colon, value), wanted: required.includes(name) };
    });
    // Others are written where they are asked for: an object is right without them, and soon ends.
    const others = more === undefined || more === false ? undefined : this.#read(more, `${at}.additionalProperties`, depth + 1);
    const long = names.find((name) => name.length > longestName);
    if (long !== undefined) throw refusal(at, `the name of a property has more than ${longestName} characters`, "config.range");
    const other = others && sequence(otherName(names), colon, others);
    let [first, after]: [Grammar, Grammar] = [
      other ? listOf(other, 0, Number.POSITIVE_INFINITY) : empty,
      other ? optional(sequence(comma, listOf(other, 1, Number.POSITIVE_INFINITY))) : empty,
    ];
    for (const { pair, wanted } of pairs.reverse()) {
      const written = sequence(pair, after);
      first = wanted ? written : choice(written, first);
      after = wanted ? sequence(comma, written) : choice(sequence(comma, written), after);
    }
    return sequence(text("{"), first, text("}"));
  }

  #array(schema: Schema, at: string, depth: number): Grammar {
    const [least, most] = this.#counts(schema, "minItems", "maxItems", at);
    const { prefixItems = [], items } = schema;
    if (!Array.isArray(prefixItems)) throw refusal(at, "prefixItems is a list of schemas", "config.type");
    if (Array.isArray(items)) throw refusal(at, "items as a list is not supported; prefixItems is", "config.type");
    const firsts = prefixItems.map((one, i) => this.#read(one, `${at}.prefixItems[${i}]`, depth + 1)).slice(0, most);
    const closed = items === false || (items === undefined && firsts.length > 0);
    const item = closed ? undefined : this.#read(items ?? true, `${at}.items`, depth + 1);
    if (!item && least > firsts.length) throw refusal(at, "minItems wants more items than there are schemas for", "config.conflict");
    const given = firsts.length;
    const rest = item && most > given ? { item, least: Math.max(0, least - given), most: most - given } : undefined;
    if (given === 0) return sequence(text("["), rest ? listOf(rest.item, rest.least, rest.most) : empty, text("]"));
    let tail: Grammar = empty;
    if (rest) {
      const some = sequence(comma, listOf(rest.item, Math.max(1, rest.least), rest.most));
      tail = rest.least > 0 ? some : optional(some);
    }
    for (let i = given - 1; i >= 0; i--) {
      const one = sequence(...(i > 0 ? [comma] : []), firsts[i], tail);
      tail = i < least ? one : optional(one);
    }
    return sequence(text("["), tail, text("]"));
  }

  #string(schema: Schema, at: string): Grammar {
    const { pattern, format } = schema;
    const limited = "minLength" in schema || "maxLength" in schema;
    if ([limited, pattern !== undefined, format !== undefined].filter(Boolean).length > 1)
      throw refusal(at, "of a length, a pattern and a format, a string may have one", "config.conflict");
    if (format !== undefined && (typeof format !== "string" || !Object.hasOwn(formats, format)))
      throw refusal(at, `the format ${JSON.stringify(format)?.slice(0, 40)} is none of ${Object.keys(formats).join(", ")}`, "config");
    if (typeof format === "string") return quoted(this.#pattern(formats[format], at));
    if (pattern !== undefined) return quoted(this.#pattern(pattern, at));
    if (!limited) return anyString;
    const [least, most] = this.#counts(schema, "minLength", "maxLength", at);
    return stringOfLength(least, most);
  }

  #pattern(pattern: unknown, at: string): Grammar {
    if (typeof pattern !== "string") throw refusal(at, "a pattern is a string", "config.type");
    try {
      const { node, size } = patternOf(pattern);
      this.#patterns += size;
      if (this.#patterns > mostOfPatterns)
        throw new UnknownPattern(
          `is one pattern too many: all together may have ${mostOfPatterns} characters, counted as often as they may be repeated`,
        );
      return node;
    } catch (error) {
      if (!(error instanceof UnknownPattern)) throw error;
      throw refusal(at, `the pattern ${JSON.stringify(pattern.slice(0, 60))} ${error.message}`, "config", error);
    }
  }

  #counts(schema: Schema, low: string, high: string, at: string): [number, number] {
    for (const name of [low, high]) {
      const value = schema[name];
      if (value === undefined || (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= mostTimes)) continue;
      throw refusal(at, `${name} is a whole number from 0 to ${mostTimes}, not ${JSON.stringify(value)?.slice(0, 40)}`, "config.range");
    }
    const [least, most] = [(schema[low] as number | undefined) ?? 0, (schema[high] as number | undefined) ?? Number.POSITIVE_INFINITY];
    if (least > most) throw refusal(at, `${low} is more than ${high}`, "config.conflict");
    return [least, most];
  }

  #bounds(schema: Schema, at: string): { low?: number; high?: number } {
    const value = (name: string): number | undefined => {
      const given = schema[name];
      if (given === undefined) return undefined;
      if (typeof given !== "number" || !Number.isFinite(given) || Math.abs(given) >= largest)
        throw refusal(at, `${name} is a number of at most 15 digits, not ${JSON.stringify(given)?.slice(0, 40)}`, "config.range");
      return given;
    };
    const [minimum, maximum] = [value("minimum"), value("maximum")];
    const [above, below] = [value("exclusiveMinimum"), value("exclusiveMaximum")];
    const lows = [minimum, above === undefined ? undefined : beside(above, "above")].filter((one) => one !== undefined);
    const highs = [maximum, below === undefined ? undefined : beside(below, "below")].filter((one) => one !== undefined);
    const [low, high] = [Math.max(...lows), Math.min(...highs)]; // -∞ and ∞ for none
    if (low > high) throw refusal(at, "no number is within its bounds", "config.conflict");
    return { ...(lows.length > 0 && { low }), ...(highs.length > 0 && { high }) };
  }

  #integer(schema: Schema, at: string): Grammar {
    const { low, high } = this.#bounds(schema, at);
    if (low === undefined && high === undefined) return anyInteger;
    const [least, most] = [Math.ceil(low ?? 1 - largest), Math.floor(high ?? largest - 1)];
    if (least > most) throw refusal(at, "no whole number is within its bounds", "config.conflict");
    return integersBetween(least, most);
  }

  #number(schema: Schema, at: string): Grammar {
    const { low, high } = this.#bounds(schema, at);
    if (low === undefined && high === undefined) return anyNumber;
    return numbersBetween(low ?? 1 - largest, high ?? largest - 1);
  }
}

const isObject = (value: unknown): value is Schema => typeof value === "object" && value !== null && !Array.isArray(value);

function isOf(value: unknown, type: TypeName): boolean {
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isObject(value);
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}

function decoded(part: string, at: string): string {
  try {
    return decodeURIComponent(part);
  } catch (error) {
    throw refusal(at, `$ref is not written as an address is: ${part.slice(0, 60)}`, "config", error);
  }
}

/** Whether a node is come to again before anything is written: only choices and names write nothing by themselves. */
function leadsTo(from: Grammar, wanted: Grammar): boolean {
  const found = new Set([from]);
  for (const node of found) {
    if (node === wanted) return true;
    if (node.kind === "choice") for (const one of node.among) found.add(one);
    else if (node.kind === "later") found.add(node.node());
  }
  return false;
}
