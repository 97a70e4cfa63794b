import * as z from "zod";
import { AskError } from "../protocol/asking.ts";
import type { ToldError } from "../protocol/messages.ts";

// What a client is told that cannot be answered: OpenAI's error object, so that every client of that API understands it.

export const errorSchema = z.object({
  error: z.object({
    message: z.string(),
    type: z.string(),
    /** The field of the request that is wrong. */
    param: z.string().nullable(),
    code: z.string().nullable(),
  }),
});

export type ErrorBody = z.output<typeof errorSchema>;

interface HttpFacts {
  readonly code?: string;
  readonly param?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request that ends with this status. */
export class HttpError extends Error {
  readonly status: number;
  readonly code: string | undefined;
  readonly param: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, { code, param, headers = {} }: HttpFacts = {}) {
    super(message);
    this.name = "HttpError";
    this.status = status;
    this.code = code;
    this.param = param;
    this.headers = headers;
  }

  get body(): ErrorBody {
    return { error: { message: this.message, type: typeOf(this.status), param: this.param ?? null, code: this.code ?? null } };
  }

  response(): Response {
    return Response.json(this.body, { status: this.status, headers: this.headers });
  }
}

const types: Readonly<Record<number, string>> = { 401: "authentication_error", 403: "permission_error", 429: "rate_limit_error" };

const typeOf = (status: number): string => types[status] ?? (status < 500 ? "invalid_request_error" : "server_error");

/** Seconds after which somebody who was turned away may try again. */
export const later = { "Retry-After": "1" };

/** What OpenAI calls what we call otherwise. */
const codes: Readonly<Record<string, string>> = { "data.too-much": "context_length_exceeded" };
/** Of a process that was there a moment ago, or will be in one. */
const passing = ["model_unavailable", "model_crashed", "model_hung", "unloaded", "stopping"];

function ofTold({ fault, code, path, message }: ToldError): HttpError {
  const facts = { code: codes[code] ?? code, ...(path !== undefined && { param: path }) };
  if (fault === "asked") return new HttpError(code === "model_not_found" ? 404 : 400, message, facts);
  if (passing.includes(code)) return new HttpError(503, message, { ...facts, headers: later });
  return new HttpError(500, message, { ...facts, headers: { "x-should-retry": "false" } }); // it would fail again
}

/** What nobody hears, because whoever asked has left; the log has it. */
export const gone = (reason: string): HttpError => new HttpError(499, reason, { code: "client_gone" });

/** Any error as an answer; `unexpected` hears of those that are mistakes of ours. */
export function httpError(error: unknown, unexpected?: (error: unknown) => void): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof AskError) return ofTold(error.told);
  unexpected?.(error);
  return new HttpError(500, "something went wrong here", { code: "unexpected", headers: { "x-should-retry": "false" } });
}
