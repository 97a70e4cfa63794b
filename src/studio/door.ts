import type { IncomingHttpHeaders } from "node:http";
import { HttpError } from "../server/errors.ts";
import { same } from "../server/guard.ts";

// Who may come in. A studio trains and removes on a person's own machine, so nobody gets anything, not even a picture, who does not have its token; and a
// browser that has it gives it to pages of the studio's own address alone.

export interface Door {
  readonly port: number;
  readonly token: string;
}

export const cookieName = ({ port }: Pick<Door, "port">): string => `qkv-studio-${port}`; // cookies do not know ports

/** What a browser keeps of the token. */
export const cookieOf = (door: Door): string => `${cookieName(door)}=${door.token}; HttpOnly; SameSite=Strict; Path=/`;

/** Refuses what does not call the studio by its own name, and pages of others: a name that leads here does not make it theirs. */
export function checkAddress({ host = "", origin }: IncomingHttpHeaders, { port }: Door): void {
  const own = ["127.0.0.1", "localhost", "[::1]"];
  const names = [...own.map((name) => `${name}:${port}`), ...(port === 80 ? own : [])]; // which is not said, since it is the usual one
  if (!names.includes(host.toLowerCase()))
    throw new HttpError(403, `the studio does not answer to this name; open it as http://127.0.0.1:${port}/`, { code: "host" });
  if (origin !== undefined && origin !== `http://${host.toLowerCase()}`)
    throw new HttpError(403, "pages of another origin get nothing here", { code: "origin" });
}

export function checkToken(headers: IncomingHttpHeaders, door: Door): void {
  const cookies = (headers.cookie ?? "").split(";").map((pair) => pair.trim());
  const name = `${cookieName(door)}=`;
  const kept = cookies.filter((pair) => pair.startsWith(name)).map((pair) => pair.slice(name.length));
  const [, bearer = ""] = /^bearer +(\S+)$/i.exec(headers.authorization ?? "") ?? [];
  if (kept.some((given) => same(given, door.token)) || same(bearer, door.token)) return;
  throw new HttpError(401, "the studio wants its token: open the address that it printed when it started", { code: "token" });
}

/** A page's connection says where the page is from, and has the token from its cookie. */
export function checkUpgrade(headers: IncomingHttpHeaders, door: Door): void {
  checkAddress(headers, door);
  if (headers.origin === undefined) throw new HttpError(403, "only pages of the studio connect here", { code: "origin" });
  checkToken({ cookie: headers.cookie }, door);
}
