import { suggest } from "../base/suggest.ts";
import type { Models } from "../processes/models.ts";
import { HttpError } from "./errors.ts";

/** What is told of a request in its log line. */
export interface CallFacts {
  model?: string;
  user?: string;
  stream?: boolean;
  promptTokens?: number;
  completionTokens?: number;
  /** Seconds until the first token, and of each one after it. */
  firstToken?: number;
  perToken?: number;
  /** What was asked and written; only where the log is to have it. */
  text?: unknown;
}

/** One request, from the moment that its body is right. */
export interface Call {
  readonly models: Models;
  readonly id: string;
  /** Of what answers: it changes with the version of qkv. */
  readonly fingerprint: string;
  readonly signal: AbortSignal;
  readonly facts: CallFacts;
  /** Milliseconds that a client may leave a stream unread. */
  readonly patience: number;
  /** Ends the connection. */
  readonly drop?: (() => void) | undefined;
  /** Seconds since 1970. */
  now(): number;
  /** For whoever gives none of his own. */
  readonly seed: () => number;
  /** It waits for nobody any more. */
  begun(): void;
  /** Nobody wants it any more. */
  abort(reason: unknown): void;
}

/** What goes back: an answer, and of a stream, when it is over and whether something went wrong on the way. */
export interface Reply {
  readonly response: Response;
  readonly over?: Promise<HttpError | undefined>;
}

export const json = (value: unknown): Reply => whole(JSON.stringify(value), "application/json");

/** Bytes that are handed over at once, so that one who reads a long answer slowly is seen to read. */
const handful = 64 * 2 ** 10;

/** An answer that is there as a whole. */
export function whole(text: string, type: string): Reply {
  const bytes = new TextEncoder().encode(text);
  const headers = { "Content-Type": type, "Content-Length": String(bytes.length) };
  if (bytes.length <= handful) return { response: new Response(bytes, { headers }) };
  let at = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(bytes.subarray(at, at + handful));
      at += handful;
      if (at >= bytes.length) controller.close();
    },
  });
  return { response: new Response(body, { headers }) };
}

/** The model that a request names, or the only one. */
export function modelOf({ models: { names }, facts }: Call, given: string | undefined): string {
  const name = given ?? (names.length === 1 ? names[0] : undefined);
  if (name === undefined)
    throw new HttpError(400, `model: several models are served here, so name one: ${names.join(", ")}`, {
      code: "model_missing",
      param: "model",
    });
  if (!names.includes(name))
    throw new HttpError(404, `there is no model called "${name}" here${suggest(name, names) || `; there are ${names.join(", ")}`}`, {
      code: "model_not_found",
      param: "model",
    });
  facts.model = name;
  return name;
}

export const withWarnings = (warnings: readonly string[]): { readonly warnings?: readonly string[] } =>
  warnings.length > 0 ? { warnings } : {};
