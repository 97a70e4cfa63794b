import { Computer } from "../../src/worker/computer.ts";
import type { FromWorker, ToWorker, WorkerEnd } from "../../src/worker/messages.ts";
import { carried, decoded, encoded, isTooLong, mostBytes } from "../../src/worker/wire.ts";

// The other end of a house: what a worker is to the page, over a connection.

/** One connection, with what a page uses of a worker. Files that are sent are read first; what is sent stays in its order. */
export class SocketWorker implements WorkerEnd {
  onmessage: WorkerEnd["onmessage"] = null;
  onerror: WorkerEnd["onerror"] = null;
  onmessageerror: WorkerEnd["onmessageerror"] = null;
  /** Why there is no connection any more; never rejected. */
  readonly lost: Promise<string>;
  readonly #socket: WebSocket;
  readonly #opened: Promise<void>;
  #sending: Promise<void>;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
    this.#opened = new Promise((resolve) => socket.addEventListener("open", () => resolve(), { once: true }));
    this.#sending = this.#opened;
    socket.addEventListener("message", ({ data }: MessageEvent<string | ArrayBuffer>) => this.#hear(data));
    this.lost = new Promise((resolve) =>
      socket.addEventListener("close", ({ reason }) => {
        const message = reason || "the connection to the studio was lost";
        const told = { fault: "failed", code: "connection.lost", message: `${message}; what was saved is there` } as const;
        this.onerror?.(Object.assign({ message } as ErrorEvent, { told }));
        resolve(message);
      }),
    );
  }

  postMessage(message: ToWorker): void {
    const read = carried(message); // what cannot be sent is said at once
    this.#sending = this.#sending.then(async () => {
      try {
        const frame = encoded(await read);
        if (isTooLong(frame)) throw new RangeError(tooLong);
        this.#socket.send(frame);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        if ("work" in message) this.#said({ job: message.job, error: unread(why), stopped: false }); // a file that was chosen and is gone
      }
    });
  }

  terminate(): void {
    this.onmessage = null;
    this.onerror = null;
    this.#socket.close();
  }

  #hear(data: string | ArrayBuffer): void {
    try {
      const said = decoded(typeof data === "string" ? data : new Uint8Array(data), ({ name, bytes, modified }) => {
        return new File([bytes], name, { lastModified: modified });
      });
      this.#said(said as FromWorker);
    } catch {
      this.onmessageerror?.({ data } as MessageEvent);
    }
  }

  #said(data: FromWorker): void {
    this.onmessage?.({ data } as MessageEvent<FromWorker>);
  }
}

const tooLong = `it has more than ${mostBytes / 2 ** 20} MB; train on it with qkv train, and put a model's folder beside the runs`;

const unread = (why: string) => ({ fault: "asked", code: "data.file", message: `what was given could not be read (${why})` }) as const;

export interface HouseListener {
  /** Called for each connection, also when one comes back: with it, what computes is another. */
  ready(computer: Computer): void;
  lost(message: string): void;
}

export interface HouseOptions {
  /** Makes a connection; to the house that has served this page, if left out. */
  readonly connect?: () => WebSocket;
  /** Milliseconds before it is tried again: each time more, up to the longest. */
  readonly waits?: { readonly first: number; readonly longest: number };
}

/** Where the house is that has served this page. */
function ownSocket(): WebSocket {
  const address = new URL("./socket", location.href);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  address.hash = "";
  address.search = "";
  return new WebSocket(address);
}

/** Connects; when a connection is lost, tries again until it is there. Settled with the first; rejected if there never was one. */
export async function connectHouse(
  listener: HouseListener,
  { connect = ownSocket, waits = { first: 250, longest: 5000 } }: HouseOptions = {},
): Promise<void> {
  const once = async (): Promise<SocketWorker> => {
    const worker = new SocketWorker(connect());
    // what a page's worker would be told to begin with; a house has its own
    const computer = await Computer.start({ engine: "", device: "auto", storage: { storage: "kept" } }, () => worker);
    listener.ready(computer);
    return worker;
  };
  const again = async (): Promise<SocketWorker> => {
    for (let wait = waits.first; ; wait = Math.min(2 * wait, waits.longest)) {
      await new Promise((resolve) => setTimeout(resolve, wait));
      const worker = await once().catch(() => undefined);
      if (worker) return worker;
    }
  };
  const first = await once();
  void (async () => {
    for (let worker = first; ; worker = await again()) listener.lost(await worker.lost);
  })();
}
