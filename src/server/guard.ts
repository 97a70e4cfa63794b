import { createHash, timingSafeEqual } from "node:crypto";
import { isIP } from "node:net";
import { HttpError } from "./errors.ts";

// Who may ask at all. A server on a person's own machine is attacked through the person's browser: by pages that send requests to it, and
// by names that suddenly lead to it.

export interface GuardOptions {
  /** Names by which the server may be called, beside addresses; anything goes if left out. */
  readonly hosts?: readonly string[];
  /** Without it, whoever reaches the server may ask. */
  readonly apiKey?: string;
  /** Origins of pages that may ask from elsewhere. */
  readonly origins: readonly string[];
}

/** Refuses what must not come any further. */
export function guard(request: Request, options: GuardOptions): void {
  checkHost(request, options);
  checkOrigin(request, options);
  if (options.apiKey === undefined || new URL(request.url).pathname === "/health" || isPreflight(request, options)) return;
  checkKey(request, options.apiKey);
}

/** Browsers ask without a key whether a page may ask with one. */
const isPreflight = (request: Request, { origins }: GuardOptions): boolean =>
  request.method === "OPTIONS" && origins.includes(request.headers.get("origin") ?? "");

/** A name that somebody else's server of names made lead here is not ours. An address cannot be made to. */
function checkHost(request: Request, { hosts }: GuardOptions): void {
  if (!hosts) return;
  const name = hostName(request.headers.get("host") ?? new URL(request.url).host);
  if (name !== undefined && (isIP(name) || hosts.includes(name))) return;
  throw new HttpError(
    403,
    `this server does not answer to the name ${name ?? "that was sent"}; whoever runs it can let it in (allow-host)`,
    {
      code: "host",
    },
  );
}

function hostName(host: string): string | undefined {
  try {
    return new URL(`http://${host}`).hostname.replace(/^\[|\]$/g, "").toLowerCase();
  } catch {
    return undefined;
  }
}

function checkOrigin(request: Request, options: GuardOptions): void {
  const origin = request.headers.get("origin");
  if (origin === null || isOwn(origin, request) || options.origins.includes(origin)) return;
  throw new HttpError(403, `pages of ${origin.slice(0, 200)} may not ask here; whoever runs the server can let them in (cors)`, {
    code: "origin",
  });
}

/** A page of the server's own. Whatever stands before it may speak https to the world. */
function isOwn(origin: string, request: Request): boolean {
  const host = request.headers.get("host") ?? new URL(request.url).host;
  return origin === `http://${host}` || origin === `https://${host}`;
}

/** A key as programs send it, or as a password, which a browser asks for. */
function checkKey(request: Request, key: string): void {
  const [, kind = "", given = ""] = /^(\w+) +(\S+)$/.exec(request.headers.get("authorization") ?? "") ?? [];
  if (kind.toLowerCase() === "bearer" && same(given, key)) return;
  if (
    kind.toLowerCase() === "basic" &&
    same(
      Buffer.from(given, "base64")
        .toString()
        .replace(/^[^:]*:/, ""),
      key,
    )
  )
    return;
  const message = given === "" ? "an API key is wanted, as Authorization: Bearer …" : "this API key is not the right one";
  throw new HttpError(401, message, { code: "invalid_api_key", headers: { "WWW-Authenticate": challenge(request) } });
}

/** Only a person who opens the page is asked by the browser. */
const challenge = (request: Request): string =>
  request.method === "GET" && (request.headers.get("accept") ?? "").includes("text/html") ? 'Basic realm="qkv", charset="UTF-8"' : "Bearer";

/** Takes as long for a wrong key as for another. */
export function same(a: string, b: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}

/** What a browser is told of a page's origin that was let in by name. */
export function corsHeaders(request: Request, { origins }: GuardOptions): Record<string, string> {
  const origin = request.headers.get("origin");
  if (origin === null || !origins.includes(origin)) return {};
  return { "Access-Control-Allow-Origin": origin, Vary: "Origin" };
}

/** The answer to a browser that asks whether a page may ask. */
export function preflight(request: Request, options: GuardOptions): Response {
  const headers = {
    ...corsHeaders(request, options),
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "authorization, content-type, *", // clients tell what they are in headers of their own
    "Access-Control-Max-Age": "600",
  };
  return new Response(null, { status: 204, headers });
}
