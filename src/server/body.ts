import type * as z from "zod";
import { suggest } from "../base/suggest.ts";
import { HttpError } from "./errors.ts";
import { wantedSentence } from "./sentences.ts";

// What comes in: at most so many bytes, JSON, of the shape that a route asks for, and nothing in it that would be ignored.

export const mostBytes = 4 * 2 ** 20;

/** The text of a body that is JSON and not too long. */
export async function readBody(request: Request, most = mostBytes): Promise<unknown> {
  const type = request.headers.get("content-type")?.split(";")[0].trim().toLowerCase();
  if (type !== "application/json")
    throw new HttpError(415, `the body must be JSON, with Content-Type: application/json, not ${type ?? "none"}`, { code: "content_type" });
  let text: string;
  try {
    text = await bounded(request, most);
  } catch (error) {
    if (error instanceof HttpError) throw error;
    throw new HttpError(400, error instanceof TypeError ? "the body is not UTF-8" : "the body did not come whole", { code: "body" });
  }
  if (depthOf(text) > deepest) throw new HttpError(400, `the body has more than ${deepest} levels of lists and objects`, { code: "json" });
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new HttpError(400, `the body is not JSON: ${error instanceof Error ? error.message : error}`, { code: "json" });
  }
}

/** Whatever walks over a value may go one call deeper with each level. */
const deepest = 100;

/** How many lists and objects are inside each other at most. */
function depthOf(text: string): number {
  let [depth, most, isString] = [0, 0, false];
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (isString) {
      if (c === 92) i++;
      else if (c === 34) isString = false;
    } else if (c === 34) isString = true;
    else if (c === 91 || c === 123) most = Math.max(most, ++depth);
    else if (c === 93 || c === 125) depth--;
  }
  return most;
}

const tooLong = (most: number, headers: Readonly<Record<string, string>> = {}): HttpError =>
  new HttpError(413, `the body may have ${most.toLocaleString("en")} bytes; send less`, { code: "body_too_large", headers });

/**
 * What is too long is read to its end and thrown away before it is refused, within reason: who still writes on a connection that is closed
 * sees it break, and not the answer that says why.
 */
async function bounded({ body }: Request, most: number): Promise<string> {
  if (!body) return "";
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let [text, bytes] = ["", 0];
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done && bytes > most) throw tooLong(most);
    if (done) return text + decoder.decode();
    bytes += value.length;
    if (bytes <= most) text += decoder.decode(value, { stream: true });
    else text = "";
    if (bytes > 16 * most) {
      void reader.cancel().catch(() => {});
      throw tooLong(most, { Connection: "close" });
    }
  }
}

/** Of names that a client made up, so much is told back. */
const mostNamed = 200;

/** Fields that OpenAI's API has and we do not, with the values that ask for nothing. */
export type Refused = Readonly<Record<string, readonly unknown[]>>;

/** A body of the shape that is wanted. A field that would change nothing is an error, but for one that asks for nothing. */
export function parsed<Schema extends z.ZodType>(schema: Schema, body: unknown, refused: Refused = {}): z.output<Schema> {
  const context = { error: wantedSentence, abortEarly: true }; // only the first fault is told, and there may be a million
  const result = schema.safeParse(without(body, refused), context);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const param = issue.path.join(".").slice(0, mostNamed);
  if (issue.code !== "unrecognized_keys")
    throw new HttpError(400, `${param === "" ? "the body" : param}: ${issue.message}`, {
      code: "invalid_value",
      ...(param !== "" && { param }),
    });
  const [key] = issue.keys;
  const name = [...issue.path, key].join(".").slice(0, mostNamed);
  if (Object.hasOwn(refused, key) && issue.path.length === 0)
    throw new HttpError(400, `${name} is a field of OpenAI's API that is not supported here; leave it out`, {
      code: "unsupported_parameter",
      param: name,
    });
  throw new HttpError(400, `${name} is no field that there is${suggest(key, keysOf(schema))}`, { code: "unknown_parameter", param: name });
}

const keysOf = (schema: z.ZodType): string[] => ("shape" in schema ? Object.keys(schema.shape as object) : []);

/** For what asks for nothing: plain values, and short lists and objects of them. */
function isSame(usual: unknown, value: unknown): boolean {
  if (typeof usual !== "object" || typeof value !== "object" || usual === null || value === null) return usual === value;
  const [a, b] = [Object.entries(usual), Object.entries(value)];
  return (
    Array.isArray(usual) === Array.isArray(value) && a.length === b.length && a.every(([key, one], i) => b[i][0] === key && b[i][1] === one)
  );
}

/** Without the fields that ask for nothing: null, or a value that is the usual one. */
function without(body: unknown, refused: Refused): unknown {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return body;
  const neutral = ([name, value]: [string, unknown]) =>
    Object.hasOwn(refused, name) && (value === null || refused[name].some((usual) => isSame(usual, value)));
  return Object.fromEntries(Object.entries(body).filter((field) => !neutral(field)));
}
