import { randomInt, randomUUID } from "node:crypto";
import { Hono } from "hono";
import { freeMemory } from "../node/machine.ts";
import { version } from "../node/version.ts";
import { failed } from "../processes/model-process.ts";
import type { ModelSettings } from "../processes/model-settings.ts";
import { type ModelEvent, type ModelStatus, Models } from "../processes/models.ts";
import { Admission, type Ticket } from "./admission.ts";
import { mostBytes, parsed, readBody } from "./body.ts";
import type { Call, CallFacts } from "./call.ts";
import { gone, HttpError, httpError } from "./errors.ts";
import { corsHeaders, type GuardOptions, guard, preflight } from "./guard.ts";
import { Measured } from "./measured.ts";
import { metricsText } from "./metrics.ts";
import { openapi } from "./openapi.ts";
import { tryPage } from "./page.ts";
import { type Route, routes } from "./routes.ts";

// Models behind a function from requests to answers, which any server of the fetch kind can mount.

export interface ServerOptions {
  /** Bytes for all models together, weights and texts; four fifths of what is free if left out. The one not asked for longest makes room for another. */
  readonly memory?: number;
  /** The most requests that wait; more are turned away with 429. */
  readonly maxWaiting?: number;
  /** Wanted of every request but GET /health. */
  readonly apiKey?: string;
  /** Names by which the server may be called, beside addresses; any, if left out. */
  readonly hosts?: readonly string[];
  /** Origins of pages that may ask from elsewhere; none, if left out. */
  readonly cors?: readonly string[];
  /** Seconds that a request may wait to be begun, and may take in all. */
  readonly queueSeconds?: number;
  readonly requestSeconds?: number;
  /** Seconds that a client may leave a stream unread before it is dropped. */
  readonly patienceSeconds?: number;
  /** Seconds without a sign of life after which a process that computes is ended and started again. */
  readonly watchdogSeconds?: number;
  /** A line for each request, and for what happens to processes. */
  readonly log?: (line: LogLine) => void;
  /** Whether log lines have the texts that were asked and written. */
  readonly logTexts?: boolean;
}

export type LogLine =
  | RequestLine
  | (ModelEvent & { readonly time: string })
  | { readonly time: string; readonly event: "error"; readonly error: string };

export interface RequestLine extends CallFacts {
  readonly time: string;
  readonly event: "request";
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly seconds: number;
  readonly error?: string;
}

/** What a request came over. */
export interface Connection {
  /** Ends it at once, for a client that does not read. */
  readonly drop?: () => void;
}

/** Milliseconds in which a model must be open. */
const longestLoading = 600_000;

export class ModelServer {
  readonly #models: Models;
  readonly #options: ServerOptions;
  readonly #guard: GuardOptions;
  readonly #admission: Admission;
  readonly #measured: Measured;
  readonly #connections = new WeakMap<Request, Connection>();
  readonly #app = new Hono();
  readonly #version = version();

  /** Models by their names; each is a folder, or a folder with settings. */
  constructor(models: Readonly<Record<string, string | ModelSettings>>, options: ServerOptions = {}) {
    const { memory = 0.8 * freeMemory(), watchdogSeconds = 60, maxWaiting = 512, queueSeconds = 120, requestSeconds = 600 } = options;
    const settings = Object.entries(models).map(([name, given]) => [name, typeof given === "string" ? { folder: given } : given] as const);
    this.#options = options;
    this.#guard = { apiKey: options.apiKey, hosts: options.hosts, origins: options.cors ?? [] };
    this.#models = new Models(Object.fromEntries(settings), {
      memory,
      watchdog: 1000 * watchdogSeconds,
      loading: longestLoading,
      log: (event) => options.log?.({ time: timeNow(), ...event }),
    });
    this.#admission = new Admission({ waiting: maxWaiting, queueTime: 1000 * queueSeconds, requestTime: 1000 * requestSeconds });
    this.#measured = new Measured(this.#models, this.#admission);
    this.#route();
  }

  /** Opens all models in turn, as far as the memory goes. A request for one that is not open opens it too. */
  open(): Promise<void> {
    return this.#models.open();
  }

  get models(): readonly ModelStatus[] {
    return this.#models.statuses;
  }

  /** Requests that are not over. */
  get requests(): number {
    return this.#admission.inside;
  }

  /** Answers a request. It may be given away by itself. Who holds the connection may say how it is dropped. */
  readonly fetch = async (request: Request, connection: Connection = {}): Promise<Response> => {
    if (connection.drop) this.#connections.set(request, connection);
    let response: Response;
    try {
      guard(request, this.#guard);
      response = await this.#app.fetch(request);
    } catch (error) {
      response = this.#refused(
        request,
        httpError(error, (found) => this.#unexpected(found)),
        performance.now(),
      );
    }
    for (const [name, value] of Object.entries({ ...corsHeaders(request, this.#guard), ...safe }))
      if (!response.headers.has(name)) response.headers.set(name, value);
    return response;
  };

  /** Lets nobody in any more, waits for those who are there, at most so many seconds, and ends the processes. */
  async close({ graceSeconds = 0 }: { readonly graceSeconds?: number } = {}): Promise<void> {
    this.#admission.close();
    const until = performance.now() + 1000 * graceSeconds;
    while (this.#admission.inside > 0 && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 20));
    this.#admission.end();
    await new Promise((resolve) => setTimeout(resolve, 20)); // for the last words of streams
    await this.#models.close(failed("stopping", "the server is stopping"));
  }

  #route(): void {
    const app = this.#app;
    for (const route of routes) app.post(route.path, (context) => this.#asked(context.req.raw, route));
    const frees: string[] = [];
    const free = (path: string, answer: (request: Request, param: (name: string) => string) => Response) => {
      frees.push(path);
      app.get(path, (context) => {
        const began = performance.now();
        const response = answer(context.req.raw, (name) => context.req.param(name) ?? "");
        this.#log(context.req.raw, { route: path, status: response.status, began });
        return response;
      });
    };
    free("/health", () => this.#health());
    free("/v1/models", () => Response.json({ object: "list", data: this.#models.statuses.map(modelEntry) }));
    free("/v1/models/:id{.+}", (request, param) => this.#model(request, param("id")));
    free(
      "/metrics",
      () => new Response(metricsText(this.#measured.metrics), { headers: { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" } }),
    );
    free("/openapi.json", () => Response.json(openapi(this.#version, this.#guard.apiKey !== undefined)));
    free("/", tryPage);
    const known = [...routes.map(({ path }) => [path, "POST"] as const), ...frees.map((path) => [path, "GET, HEAD"] as const)];
    for (const [path, allow] of known)
      app.all(path, ({ req: { raw } }) => {
        if (raw.method === "OPTIONS" && raw.headers.has("origin")) return preflight(raw, this.#guard);
        throw new HttpError(405, `${raw.method} is not for ${path}; use ${allow}`, { code: "method", headers: { Allow: allow } });
      });
    app.notFound(({ req: { raw } }) => {
      throw new HttpError(404, `there is nothing at ${new URL(raw.url).pathname.slice(0, 200)}; see /openapi.json`, { code: "not_found" });
    });
    app.onError((error) => {
      throw error;
    });
  }

  /** A question to a model. */
  async #asked(request: Request, { body: schema, refused, handle, path }: Route): Promise<Response> {
    const began = performance.now();
    const facts: CallFacts = {};
    const id = randomUUID().replaceAll("-", "");
    let ticket: Ticket | undefined;
    const over = (status: number, error?: HttpError) => {
      ticket?.leave();
      this.#log(request, { route: path, status, began, facts, id, error });
    };
    try {
      ticket = this.#admission.enter(); // a body that is still coming takes memory, too
      const body = parsed(schema, await readBody(request, mostBytes), refused);
      const { user } = body as { user?: string | null };
      if (user != null) facts.user = user;
      const { response, over: ended } = await handle(this.#call(ticket, request, facts, id), body as never);
      if (ended) void ended.then((error) => over(error?.status ?? response.status, error));
      else over(response.status);
      return response;
    } catch (error) {
      const found = httpError(ticket?.signal.aborted ? ticket.signal.reason : error, (unexpected) => this.#unexpected(unexpected));
      over(found.status, found);
      if (found.status === 499) return new Response(null, { status: 499 }); // nobody hears it
      return found.response();
    }
  }

  #call(ticket: Ticket, request: Request, facts: CallFacts, id: string): Call {
    const { abort, signal, begun } = ticket;
    const left = () => abort(gone("the client has gone"));
    if (request.signal.aborted) left();
    request.signal.addEventListener("abort", left, { once: true });
    return {
      models: this.#models,
      id,
      fingerprint: `qkv-${this.#version}`,
      signal,
      facts,
      patience: 1000 * (this.#options.patienceSeconds ?? 30),
      now: () => Math.floor(Date.now() / 1000),
      seed: () => randomInt(2 ** 47),
      begun,
      abort,
      drop: this.#connections.get(request)?.drop,
    };
  }

  #health(): Response {
    const models = this.#models.statuses.map(({ name, state, error }) => ({
      name,
      status: state,
      ...(state !== "ready" && error && { error: error.code }),
    }));
    const status = this.#admission.closed ? "stopping" : healthOf(models.map((one) => one.status));
    return Response.json({ status, models }, { status: status === "ok" ? 200 : 503 });
  }

  #model(_: Request, id: string): Response {
    const found = this.#models.statuses.find(({ name }) => name === id);
    if (!found)
      throw new HttpError(404, `there is no model called "${id.slice(0, 200)}" here`, { code: "model_not_found", param: "model" });
    return Response.json(modelEntry(found));
  }

  #refused(request: Request, error: HttpError, began: number): Response {
    this.#log(request, { status: error.status, began, error });
    return error.response();
  }

  #unexpected(error: unknown): void {
    this.#options.log?.({
      time: timeNow(),
      event: "error",
      error: error instanceof Error ? `${error.stack ?? error.message}` : String(error),
    });
  }

  #log(request: Request, { route = "", status, began, facts = {}, id = "", error }: Over): void {
    const seconds = (performance.now() - began) / 1000;
    this.#measured.request(route, status, facts);
    const { text, ...rest } = facts;
    this.#options.log?.({
      time: timeNow(),
      event: "request",
      id,
      method: request.method,
      path: new URL(request.url).pathname.slice(0, 200),
      status,
      seconds: Number(seconds.toFixed(4)),
      ...rest,
      ...(this.#options.logTexts === true && text !== undefined && { text }),
      ...(error && { error: error.code ?? error.message }),
    });
  }
}

/** A request that is over. */
interface Over {
  /** Left out where there is no such route. */
  readonly route?: string;
  readonly status: number;
  readonly began: number;
  readonly facts?: CallFacts;
  readonly id?: string;
  readonly error?: HttpError | undefined;
}

const timeNow = (): string => new Date().toISOString();

/** No page may be made to take an answer for something else, or be shown inside another. */
const safe = { "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer" };

/** One that can be asked is enough; models that are not open are opened when they are asked. */
function healthOf(states: readonly ModelStatus["state"][]): "ok" | "loading" | "failed" {
  if (states.includes("ready") || states.every((state) => state === "unloaded")) return "ok";
  return states.includes("loading") ? "loading" : "failed";
}

const began = Math.floor(Date.now() / 1000);

function modelEntry({ name, facts }: ModelStatus): object {
  const known = facts && {
    task: facts.task,
    architecture: facts.model,
    parameters: facts.parameters,
    context: facts.context,
    vocab: facts.vocab,
    ...(facts.labels.length > 0 && { labels: facts.labels }),
    chat: facts.chat,
    ...(facts.mask !== undefined && { mask: facts.mask }),
  };
  return { id: name, object: "model", created: began, owned_by: "qkv", ...known };
}
