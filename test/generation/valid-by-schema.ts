// Whether a value is valid by a JSON schema, read straight from the standard and from nothing of ours: the other opinion of the tests of forms.

type Schema = Record<string, unknown>;

const formats: Record<string, (text: string) => boolean> = {
  date: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && new Date(`${text}T00:00:00Z`).toISOString().startsWith(text),
  time: (text) => /^\d\d:/.test(text) && !Number.isNaN(Date.parse(`2024-01-01T${text}`)),
  "date-time": (text) => /^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text)),
  uuid: (text) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text),
  ipv4: (text) => text.split(".").length === 4 && text.split(".").every((part) => String(Number(part)) === part && Number(part) < 256),
  email: (text) => /^[^@\s]+@[^@\s.]+(\.[^@\s.]+)+$/.test(text),
};

const typeOf = (value: unknown): string => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value);
const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

export function valid(value: unknown, given: unknown, root: unknown = given): boolean {
  if (typeof given === "boolean") return given;
  const schema = given as Schema;
  const is = (inner: unknown, by: unknown): boolean => valid(inner, by, root);
  const number = (key: string): number => schema[key] as number;
  if (schema.$ref !== undefined) {
    const path = (schema.$ref as string).split("/").slice(1);
    if (
      !is(
        value,
        path.reduce<unknown>((at, key) => (at as Schema)[key.replaceAll("~1", "/").replaceAll("~0", "~")], root),
      )
    )
      return false;
  }
  if (schema.type !== undefined) {
    const types = [schema.type].flat() as string[];
    if (!types.some((type) => type === typeOf(value) || (type === "integer" && Number.isInteger(value)))) return false;
  }
  if (schema.enum && !(schema.enum as unknown[]).some((one) => same(one, value))) return false;
  if ("const" in schema && !same(schema.const, value)) return false;
  if (schema.anyOf && !(schema.anyOf as unknown[]).some((one) => is(value, one))) return false;
  if (schema.allOf && !(schema.allOf as unknown[]).every((one) => is(value, one))) return false;
  if (typeof value === "number") {
    if (value < number("minimum") || value > number("maximum")) return false;
    if (value <= number("exclusiveMinimum") || value >= number("exclusiveMaximum")) return false;
  }
  if (typeof value === "string") {
    const length = Array.from(value).length;
    if (length < number("minLength") || length > number("maxLength")) return false;
    if (schema.pattern !== undefined && !new RegExp(schema.pattern as string, "u").test(value)) return false;
    if (schema.format !== undefined && !formats[schema.format as string](value)) return false;
  }
  if (Array.isArray(value)) {
    if (value.length < number("minItems") || value.length > number("maxItems")) return false;
    const firsts = (schema.prefixItems ?? []) as unknown[];
    return value.every((item, i) => is(item, i < firsts.length ? firsts[i] : (schema.items ?? true)));
  }
  if (typeOf(value) !== "object") return true;
  const properties = (schema.properties ?? {}) as Schema;
  if (((schema.required ?? []) as string[]).some((name) => !Object.hasOwn(value as object, name))) return false;
  return Object.entries(value as object).every(([name, inner]) =>
    is(inner, Object.hasOwn(properties, name) ? properties[name] : (schema.additionalProperties ?? true)),
  );
}
