import type { z } from "zod";
import type * as responses from "../../src/server/responses.ts";
import { eventsOf } from "./events.ts";

// What the page asks its own server, in the shapes that the server itself declares. Whatever goes wrong is a sentence.

export type Model = z.output<typeof responses.modelResponse>;
export type Health = z.output<typeof responses.healthResponse>;
export type CompletionChunk = z.output<typeof responses.completionResponse>;
export type ChatChunk = z.output<typeof responses.chatChunk>;
export type Usage = NonNullable<CompletionChunk["usage"]>;
export type Classified = z.output<typeof responses.classifyResponse>;
export type Tagged = z.output<typeof responses.tagResponse>;
export type Filled = z.output<typeof responses.fillResponse>;
export type Embedded = z.output<typeof responses.embeddingResponse>;

/** A question as it is sent; curl can ask the same. */
export interface Asked {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** What the server refused, or that nobody answered. */
export class AnswerError extends Error {
  /** The field of the request that is wrong, where the server names one. */
  readonly field: string | undefined;

  constructor(message: string, field?: string | null) {
    super(message);
    this.name = "AnswerError";
    this.field = field ?? undefined;
  }
}

/** Where the server is mounted: the page is at its root, with or without a slash. */
export const base = (): string => location.pathname.replace(/\/+$/, "");

export async function models(): Promise<readonly Model[]> {
  const { data } = await jsonOf<{ data: Model[] }>(await reached(fetch(`${base()}/v1/models`)));
  return data;
}

/** Whether models can be asked; the answer has one also where its status says that they cannot. */
export async function health(): Promise<Health> {
  const response = await reached(fetch(`${base()}/health`));
  return response.status === 503 ? ((await response.json()) as Health) : jsonOf(response);
}

/** Whether others than this page must send a key. */
export async function wantsKey(): Promise<boolean> {
  const { security } = await jsonOf<{ security?: unknown }>(await reached(fetch(`${base()}/openapi.json`)));
  return security !== undefined;
}

export async function answer<Answer>(asked: Asked, signal?: AbortSignal): Promise<Answer> {
  return jsonOf<Answer>(await posted(asked, signal));
}

/** The parts of an answer as they are written. One that was broken off is an error, never a whole answer. */
export async function* written<Chunk>(asked: Asked, signal: AbortSignal): AsyncGenerator<Chunk> {
  const response = await posted(asked, signal);
  if (!response.ok || response.body === null) {
    await jsonOf(response);
    return;
  }
  try {
    for await (const data of eventsOf(response.body)) {
      if (data === "[DONE]") return;
      const chunk = JSON.parse(data) as Chunk | ErrorBody;
      if (isError(chunk)) throw new AnswerError(chunk.error.message, chunk.error.param);
      yield chunk;
    }
  } catch (error) {
    if (error instanceof AnswerError || signal.aborted) throw error;
    throw new AnswerError("the connection broke off, so this answer is not whole");
  }
  throw new AnswerError("the stream ended early, so this answer is not whole");
}

const posted = ({ path, body }: Asked, signal?: AbortSignal): Promise<Response> =>
  reached(
    fetch(`${base()}${path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    }),
  );

async function reached(response: Promise<Response>): Promise<Response> {
  try {
    return await response;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new AnswerError("the server cannot be reached; is it still running?");
  }
}

type ErrorBody = z.output<typeof import("../../src/server/errors.ts").errorSchema>;

const isError = (value: unknown): value is ErrorBody => typeof value === "object" && value !== null && "error" in value;

async function jsonOf<Answer>(response: Response): Promise<Answer> {
  const text = await response.text();
  const found = parsed(text);
  if (isError(found)) throw new AnswerError(found.error.message, found.error.param);
  if (!response.ok || found === undefined)
    throw new AnswerError(`the server answered with status ${response.status} and nothing that can be read here`);
  return found as Answer;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
