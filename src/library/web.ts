import { NetworkError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";

// Requests to a hub. Whoever asks is told to the hub alone: a redirect to another host goes without the token.

export interface Hub {
  /** Where it is, without a slash at the end. */
  readonly endpoint: string;
  /** Who asks, for private and gated models: a program takes it from its environment. It is never part of a sentence. */
  readonly token?: string | undefined;
  /** Waits between two attempts, in milliseconds; the clock's if left out. */
  readonly wait?: (milliseconds: number) => Promise<void>;
  /** Gives up; what came stays for the next time. */
  readonly signal?: AbortSignal;
}

const mostRedirects = 8;
/** A connection that says nothing for so long is given up. */
export const patience = 60_000;

/** A request that is followed to where it leads. Its answer is 200 or 206, or an error. */
export async function ask(hub: Hub, path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Response> {
  let url = new URL(hub.endpoint + path);
  const home = url.origin;
  for (let turn = 0; turn <= mostRedirects; turn++) {
    const who: Record<string, string> = hub.token !== undefined && url.origin === home ? { Authorization: `Bearer ${hub.token}` } : {};
    const response = await fetch(url, { headers: { ...headers, ...who }, redirect: "manual", signal });
    if (response.status < 300 || response.status >= 400) return answered(response, hub, path);
    await response.body?.cancel();
    const next = urlOf(response.headers.get("location") ?? "", url);
    if (!next || !["http:", "https:"].includes(next.protocol) || (url.protocol === "https:" && next.protocol === "http:"))
      throw new NetworkError(`${hub.endpoint} sends one to a place that cannot be followed`);
    url = next;
  }
  throw new NetworkError(`${hub.endpoint} sends one from place to place without an end`);
}

/** An address, if it is one. */
export function urlOf(text: string, base?: URL): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}

/** Refused for now: another attempt may do. */
export class Later extends NetworkError {
  static override readonly called = "Later";
  /** Milliseconds that the server asks for. */
  readonly after: number;

  constructor(what: string, after = 0) {
    super(what);
    this.after = after;
  }
}

async function answered(response: Response, { endpoint, token }: Hub, path: string): Promise<Response> {
  const { status } = response;
  if (status === 200 || status === 206) return response;
  await response.body?.cancel();
  if (status === 429 || status >= 500 || status === 408) {
    const seconds = Number(response.headers.get("retry-after"));
    throw new Later(`${endpoint} answers ${status}`, Number.isFinite(seconds) ? Math.min(60, Math.max(0, seconds)) * 1000 : 0);
  }
  const what = decodeURIComponent(
    path
      .replace(/^\/api\/models\//, "/")
      .slice(1)
      .split("?")[0],
  );
  if (status === 401 || status === 403) {
    const cure =
      token === undefined
        ? "if it is there, it is private or gated: accept its conditions on its page, and give a token that may read it (HF_TOKEN in the environment; token in a program)"
        : "the token is wrong, has no right to read, or its owner has not accepted the conditions on the model's page";
    throw new NetworkError(sentence`${endpoint} does not let everybody have ${what} (${status}); ${cure}`, { code: "network.forbidden" });
  }
  if (status === 404)
    throw new NetworkError(sentence`${endpoint} has no ${what}; look at the name of its owner, its own name and ${setting("revision")}`, {
      code: "network.missing",
    });
  throw new NetworkError(`${endpoint} answers ${status} to ${what}`);
}

const mostAttempts = 5;

/** Tries again with more and more time in between; progress gives all attempts back. */
export async function persistently<Result>(hub: Hub, work: (progress: () => void) => Promise<Result>): Promise<Result> {
  const wait = hub.wait ?? ((milliseconds: number) => new Promise<void>((done) => setTimeout(done, milliseconds)));
  let failed = 0;
  for (;;) {
    try {
      return await work(() => {
        failed = 0;
      });
    } catch (error) {
      hub.signal?.throwIfAborted();
      const again = error instanceof Later || isBroken(error);
      if (!again) throw error;
      if (++failed >= mostAttempts) throw unreachable(hub, error);
      await wait(Math.max(error instanceof Later ? error.after : 0, 1000 * 2 ** (failed - 1)));
    }
  }
}

/** What fetch throws when a connection fails or breaks off. */
const isBroken = (error: unknown): boolean =>
  error instanceof TypeError || (error instanceof DOMException && ["TimeoutError", "AbortError"].includes(error.name));

function unreachable({ endpoint }: Hub, error: unknown): NetworkError {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const reason =
    error instanceof Later ? `${error.complaint}` : `${endpoint} cannot be reached (${cause instanceof Error ? cause.message : cause})`;
  return new NetworkError(
    sentence`${reason}, tried ${mostAttempts} times; look at the connection or ${setting("endpoint")}, and try again: what has come is kept`,
    { cause: error },
  );
}
