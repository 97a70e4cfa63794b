import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { ConfigError, RunError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { HttpError } from "./errors.ts";
import type { ModelServer } from "./server.ts";

// A port, for a server of models. What comes in there trusts nobody and is trusted by nobody.

export interface ListenOptions {
  readonly port: number;
  readonly host: string;
  /** Seconds that a client may leave an answer unread before it is dropped; 30 if left out. */
  readonly patienceSeconds?: number;
}

export interface Listening {
  readonly port: number;
  readonly url: string;
  /** Ends it: no new connections, those who are being answered get so many seconds. */
  close(graceSeconds: number): Promise<void>;
}

/** Milliseconds in which the head of a request, and all of it, must have come: whoever sends a byte now and then is not waited for. */
export const limits = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 1000,
  keepAliveTimeout: 65_000,
} as const; // longer than a proxy keeps one, which would else ask on a connection that closes at that moment
export const mostHeaders = 16 * 2 ** 10;

export async function listen(models: ModelServer, { port, host, patienceSeconds = 30 }: ListenOptions): Promise<Listening> {
  if (port > 65_535) throw new ConfigError(sentence`${setting("port")}: a whole number from 0 to 65,535 is wanted, not ${port}`);
  const name = host.includes(":") ? `[${host}]` : host;
  const answer = getRequestListener((request, { outgoing }) => models.fetch(request, { drop: () => outgoing.destroy() }), {
    overrideGlobalObjects: false,
    hostname: name, // for HTTP/1.0, which need not say whom it asks: programs that look after others' health speak it
    errorHandler: refused,
  });
  const server = createServer({ ...limits, maxHeaderSize: mostHeaders }, (incoming, outgoing) => {
    readers.add(outgoing);
    void answer(incoming, outgoing);
  });
  const readers = new Readers(1000 * patienceSeconds);
  await listening(server, port, host);
  const bound = (server.address() as AddressInfo).port;
  return {
    port: bound,
    url: `http://${name}:${bound}`,
    async close(graceSeconds) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      await models.close({ graceSeconds });
      server.closeIdleConnections();
      const last = setTimeout(() => server.closeAllConnections(), 500); // a client that does not take its last words
      await closed;
      readers.release();
      clearTimeout(last);
    },
  };
}

/** What has a host or an address that there cannot be comes no further than this. */
const refused = (error: unknown): Response =>
  new HttpError(400, `the request says whom it asks in no way that there is: ${error instanceof Error ? error.message : error}`, {
    code: "address",
  }).response();

export function listening(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const cures: Readonly<Record<string, unknown>> = {
        EADDRINUSE: sentence`another program listens there; choose another ${setting("port")}`,
        EACCES: sentence`this port is not for everybody; choose a ${setting("port")} from 1024 on`,
        EADDRNOTAVAIL: sentence`this machine has no such address; choose another ${setting("host")}`,
        ENOTFOUND: sentence`there is no such address; choose another ${setting("host")}`,
      };
      const why = cures[error.code ?? ""] ?? error.message;
      reject(new RunError(sentence`${host}:${port} cannot be listened on: ${why as never}`));
    });
    server.listen({ port, host }, resolve);
  });
}

/** Answers on their way. What a client does not take waits here, so one that takes nothing for long is dropped. */
class Readers {
  readonly #open = new Map<ServerResponse, { written: number; since: number }>();
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(patience: number) {
    this.#timer = setInterval(() => {
      for (const [outgoing, seen] of this.#open) {
        const { socket, writableLength } = outgoing;
        const written = socket?.bytesWritten ?? 0;
        const waits = writableLength + (socket?.writableLength ?? 0) > 0;
        if (!waits || written !== seen.written) this.#open.set(outgoing, { written, since: performance.now() });
        else if (performance.now() - seen.since > patience) outgoing.destroy();
      }
    }, patience / 4).unref();
  }

  add(outgoing: ServerResponse): void {
    this.#open.set(outgoing, { written: 0, since: performance.now() });
    outgoing.once("close", () => this.#open.delete(outgoing));
  }

  release(): void {
    clearInterval(this.#timer);
  }
}
