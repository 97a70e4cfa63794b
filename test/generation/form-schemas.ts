// Schemas of every sort that can be held to.

const closed = (properties: Record<string, unknown>, required = Object.keys(properties)) => ({
  ...{ type: "object", properties, required, additionalProperties: false },
});

export const schemas: Readonly<Record<string, unknown>> = {
  string: closed({ name: { type: "string" } }),
  optional: closed({ a: { type: "integer" }, b: { type: "boolean" }, c: { type: "null" }, d: { type: "string" } }, ["b"]),
  "all optional": closed({ a: { type: "integer" }, b: { type: "boolean" }, c: { type: "null" } }, []),
  nested: closed({
    who: closed({ name: { type: "string" }, age: { type: "integer", minimum: 0, maximum: 130 } }),
    ok: { type: "boolean" },
  }),
  enum: closed({ mood: { enum: ["glad", "sad", 'so "so"', 7, null, { x: [1, 2] }] } }),
  "enum of a type": { type: "string", enum: ["yes", "no", 3] },
  const: closed({ kind: { const: "circle" }, size: { type: "number" } }),
  array: { type: "array", items: { type: "integer" } },
  "array with bounds": closed({ tags: { type: "array", items: { type: "boolean" }, minItems: 2, maxItems: 4 } }),
  "no items": { type: "array", maxItems: 0 },
  tuple: { type: "array", prefixItems: [{ type: "integer" }, { enum: ["a", "b"] }], items: { type: "null" }, minItems: 1, maxItems: 4 },
  "closed tuple": { type: "array", prefixItems: [{ type: "integer" }, { type: "boolean" }], items: false, minItems: 2 },
  integers: { type: "array", items: { type: "integer", minimum: -12, maximum: 345 }, minItems: 5 },
  "integers above": { type: "integer", exclusiveMinimum: 99 },
  "integers below": { type: "integer", maximum: -1000 },
  "one integer": { type: "integer", minimum: 7, maximum: 7 },
  numbers: { type: "array", items: { type: "number" }, minItems: 3, maxItems: 3 },
  share: { type: "array", items: { type: "number", minimum: 0, maximum: 1 }, minItems: 4, maxItems: 4 },
  "open share": { type: "array", items: { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1 }, minItems: 4, maxItems: 4 },
  decimals: { type: "array", items: { type: "number", minimum: -1.25, exclusiveMaximum: 20.5 }, minItems: 4, maxItems: 4 },
  "narrow decimals": { type: "array", items: { type: "number", minimum: 3.14, maximum: 3.15 }, minItems: 2, maxItems: 2 },
  positive: { type: "number", exclusiveMinimum: 0 },
  lengths: closed({ short: { type: "string", minLength: 2, maxLength: 5 }, long: { type: "string", minLength: 3 } }),
  pattern: closed({ code: { type: "string", pattern: "^[A-Z]{2}-\\d{3,4}(x|yz)?$" } }),
  "pattern anywhere": closed({ text: { type: "string", pattern: 'a"\\s?b|é+' } }),
  "pattern of classes": { type: "string", pattern: "^[^\\d\\n]\\w+(?:\\.|\\\\|[ä-ü€]){1,3}$" },
  formats: closed(
    Object.fromEntries(["date", "time", "date-time", "uuid", "ipv4", "email"].map((format) => [format, { type: "string", format }])),
  ),
  anyOf: closed({
    value: { anyOf: [{ type: "integer" }, closed({ unit: { const: "m" } }), closed({ unit: { const: "mm" } }), { type: "null" }] },
  }),
  "several types": closed({ value: { type: ["string", "integer", "null"], maxLength: 3 } }),
  references: {
    $defs: { point: closed({ x: { type: "integer" } }) },
    ...closed({ from: { $ref: "#/$defs/point" }, to: { allOf: [{ $ref: "#/$defs/point" }] } }),
  },
  "a list inside itself": {
    $defs: {
      more: { anyOf: [{ $ref: "#/$defs/list" }, { type: "null" }] },
      list: closed({ head: { type: "integer" }, tail: { $ref: "#/$defs/more" } }),
    },
    $ref: "#/$defs/list",
  },
  "the whole inside": closed({ name: { enum: ["a", "b"] }, children: { type: "array", items: { $ref: "#" }, maxItems: 2 } }),
  "others of a type": {
    type: "object",
    properties: { a: { type: "integer" }, ab: { type: "null" } },
    additionalProperties: { type: "boolean" },
  },
  "any others": { type: "object", properties: { id: { type: "integer" } }, required: ["id"], additionalProperties: true },
  "required without a schema": { type: "object", properties: { a: { type: "integer" } }, required: ["b", "a"] },
  names: closed({
    "naïve key": { type: "integer" },
    猫: { type: "boolean" },
    'a"b\\c\n': { type: "null" },
    "": { type: "integer" },
    __proto__x: { type: "null" },
  }),
  anything: {},
  "any object": { type: "object" },
  remarks: {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "T",
    description: "d",
    ...closed({ a: { type: "integer", default: 3, examples: [1] } }),
  },
};
