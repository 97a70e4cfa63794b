import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll } from "vitest";

// A hub of the tests' own: the two addresses that a pull asks, and every way in which they can fail.

export const commit = "0123456789abcdef0123456789abcdef01234567";

export interface Sent {
  readonly url: string;
  readonly range?: string;
  readonly authorization?: string;
}

/** What the server does with a request for a file instead of sending it; true if it did. */
export type Trouble = (request: IncomingMessage, response: ServerResponse, content: Buffer, from: number) => boolean;

export class HubServer {
  readonly files = new Map<string, Buffer>();
  readonly sent: Sent[] = [];
  trouble: Trouble = () => false;
  /** What the list of files says, where that is not the truth. */
  listing: (truth: unknown) => unknown = (truth) => truth;
  /** Files whose checksum is git's; all others have a SHA-256. */
  readonly small = /\.(json|txt|jinja)$/;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => this.#answer(request, response));
    afterAll(() => {
      this.#server.closeAllConnections();
      this.#server.close();
    });
  }

  static async start(files: Readonly<Record<string, string | Buffer>> = {}): Promise<HubServer> {
    const hub = new HubServer();
    for (const [name, content] of Object.entries(files)) hub.files.set(name, Buffer.from(content));
    await new Promise<void>((done) => hub.#server.listen(0, "127.0.0.1", done));
    return hub;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { url = "", headers } = request;
    this.sent.push({ url, range: headers.range, authorization: headers.authorization });
    if (url.startsWith("/api/models/owner/tiny/revision/")) {
      response.setHeader("content-type", "application/json").end(JSON.stringify(this.listing(this.#list())));
      return;
    }
    const name = decodeURIComponent(/\/resolve\/[^/]+\/(.*)$/.exec(url)?.[1] ?? "");
    const content = this.files.get(name);
    if (!content) {
      response.writeHead(404).end();
      return;
    }
    const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? "")?.[1] ?? 0);
    if (this.trouble(request, response, content, from)) return;
    this.send(response, content, from);
  }

  send(response: ServerResponse, content: Buffer, from: number): void {
    if (from > 0) response.writeHead(206, { "content-range": `bytes ${from}-${content.length - 1}/${content.length}` });
    response.end(content.subarray(from));
  }

  #list(): object {
    const siblings = [...this.files].map(([rfilename, content]) => {
      const blobId = createHash("sha1").update(`blob ${content.length}\0`).update(content).digest("hex");
      if (this.small.test(rfilename)) return { rfilename, size: content.length, blobId };
      const sha256 = createHash("sha256").update(content).digest("hex");
      return { rfilename, size: content.length, blobId: "0".repeat(40), lfs: { sha256, size: content.length, pointerSize: 134 } };
    });
    return { id: "owner/tiny", sha: commit, siblings };
  }
}
