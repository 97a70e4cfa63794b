import { createReadStream, readFileSync, statSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { ConfigError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { HttpError, httpError } from "../server/errors.ts";
import { same } from "../server/guard.ts";
import { limits, listening, mostHeaders } from "../server/listen.ts";
import { mostBytes } from "../worker/wire.ts";
import { type AppFile, appFiles, inHouse } from "./app-files.ts";
import { checkAddress, checkToken, checkUpgrade, cookieOf, type Door } from "./door.ts";
import { safeHeaders } from "./headers.ts";
import type { House } from "./house.ts";
import { converse } from "./socket.ts";

// The door of a studio: the app's files, and the connection over which its pages ask. It listens on this machine alone.

const host = "127.0.0.1";
/** Pages that are connected at once. */
const mostSockets = 32;

export interface ListenOptions {
  readonly port: number;
  /** The folder of the app; the package's own if left out. */
  readonly app?: string;
}

export interface Listening {
  readonly port: number;
  /** With the token. */
  readonly url: string;
  close(): Promise<void>;
}

/** Refuses what can be no port, before anything is made for it. */
export function checkPort(port: number): void {
  if (port > 65_535) throw new ConfigError(sentence`${setting("port")}: a whole number from 0 to 65,535 is wanted, not ${port}`);
}

export async function listen(house: House, { port, app }: ListenOptions): Promise<Listening> {
  const files = appFiles(app);
  let door: Door = { port, token: house.token };
  const server = createServer({ ...limits, maxHeaderSize: mostHeaders }, (request, response) => {
    try {
      answer(request, response, door, files);
    } catch (error) {
      refuse(response, httpError(error));
    }
  });
  const sockets = new WebSocketServer({ noServer: true, maxPayload: mostBytes, perMessageDeflate: false });
  server.on("upgrade", (request, socket, head) => {
    socket.on("error", () => socket.destroy());
    try {
      if (pathOf(request) !== "/socket") throw new HttpError(404, "pages connect at /socket");
      checkUpgrade(request.headers, door);
      if (sockets.clients.size >= mostSockets) throw new HttpError(503, `${mostSockets} pages are connected already; close some`);
      sockets.handleUpgrade(request, socket, head, (connected) => converse(connected, house));
    } catch (error) {
      refuseUpgrade(socket, httpError(error));
    }
  });
  server.on("clientError", (_, socket) => void socket.destroy());
  await listening(server, port, host);
  const bound = (server.address() as AddressInfo).port;
  door = { ...door, port: bound };
  return {
    port: bound,
    url: `http://${host}:${bound}/?token=${house.token}`,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await house.close();
      for (const socket of sockets.clients) socket.close(1001, "the studio was stopped");
      const last = setTimeout(() => {
        for (const socket of sockets.clients) socket.terminate();
        server.closeAllConnections();
      }, 300);
      server.closeIdleConnections();
      await closed;
      clearTimeout(last);
    },
  };
}

const pathOf = (request: IncomingMessage): string => (request.url ?? "/").split(/[?#]/)[0];

function answer(request: IncomingMessage, response: ServerResponse, door: Door, files: ReadonlyMap<string, AppFile>): void {
  const { method, headers, url = "/" } = request;
  checkAddress(headers, door);
  if (method !== "GET" && method !== "HEAD")
    throw new HttpError(405, "only GET and HEAD are known here", { headers: { Allow: "GET, HEAD" } });
  const path = pathOf(request);
  const given = URL.canParse(url, "http://studio") ? new URL(url, "http://studio").searchParams.get("token") : null;
  if (path === "/" && given !== null) {
    if (!same(given, door.token))
      throw new HttpError(401, "this is not the token of this studio: open the address that it has printed now");
    response.writeHead(303, { ...safeHeaders, Location: "/", "Set-Cookie": cookieOf(door), "Cache-Control": "no-store" }).end();
    return;
  }
  checkToken(headers, door);
  const name = path === "/" ? "index.html" : path.slice(1);
  const file = files.get(name);
  if (!file) throw new HttpError(404, "there is no such file");
  if (name === "index.html") {
    const text = Buffer.from(inHouse(readFileSync(file.path, "utf8")));
    response.writeHead(200, { ...safeHeaders, "Content-Type": file.type, "Content-Length": text.length, "Cache-Control": "no-store" });
    response.end(method === "HEAD" ? undefined : text);
  } else sendFile(request, response, file);
}

/** What a browser has already is not sent again. */
function sendFile({ method, headers }: IncomingMessage, response: ServerResponse, { path, type }: AppFile): void {
  const { size, mtimeMs } = statSync(path);
  const tag = `"${size}-${Math.round(mtimeMs)}"`;
  const about = { ...safeHeaders, ETag: tag, "Cache-Control": "no-cache" };
  if (headers["if-none-match"] === tag) {
    response.writeHead(304, about).end();
    return;
  }
  response.writeHead(200, { ...about, "Content-Type": type, "Content-Length": size });
  if (method === "HEAD") response.end();
  else
    createReadStream(path)
      .on("error", () => response.destroy())
      .pipe(response);
}

function refuse(response: ServerResponse, { status, message, headers }: HttpError): void {
  response.writeHead(status, { ...safeHeaders, ...headers, "Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store" });
  response.end(`${message}\n`);
}

function refuseUpgrade(socket: Duplex, { status, message }: HttpError): void {
  const text = `${message}\n`;
  socket.once("finish", () => socket.destroy()); // the server, which waits for all connections when it ends, does not know this one any more
  socket.end(
    `HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
}
