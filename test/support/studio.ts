import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { WebSocket as NodeSocket } from "ws";
import type { Computer } from "../../src/worker/computer.ts";
import { connectHouse } from "../../studio/compute/socket.ts";
import { within } from "./serve.ts";

// A real studio: the command in a process of its own, and pages that are connected to it.

const main = join(import.meta.dirname, "../../dist/cli/main.js");

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

export class Studio {
  readonly folder: string;
  readonly port: number;
  readonly token: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<number | null>;
  readonly #pages: NodeSocket[] = [];
  #stderr = "";

  private constructor(child: ChildProcess, { folder, port, url }: { folder: string; port: number; url: string }) {
    this.#child = child;
    this.folder = folder;
    this.port = port;
    this.token = new URL(url).searchParams.get("token") ?? "";
    this.#ended = new Promise((resolve) => child.once("close", resolve));
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr += text;
    });
  }

  static async start(folder: string, { port = 0 }: { readonly port?: number } = {}): Promise<Studio> {
    const env = { ...process.env, XDG_CACHE_HOME: `${folder}-cache` };
    const words = ["studio", folder, "--port", `${port}`, "--json", "--threads", "1"];
    const child = spawn(process.execPath, [main, ...words], { stdio: ["ignore", "pipe", "pipe"], env });
    let failed = "";
    child.stderr?.on("data", (text) => {
      failed += text;
    });
    const line = await new Promise<string>((resolve, reject) => {
      child.stdout?.once("data", (text) => resolve(String(text)));
      child.once("close", () => reject(new Error(`the studio did not start: ${failed}`)));
    });
    return new Studio(child, JSON.parse(line));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get said(): string {
    return this.#stderr;
  }

  /** Its processes that compute. */
  get children(): readonly number[] {
    const list = `/proc/${this.pid}/task/${this.pid}/children`;
    const children = existsSync(list) ? readFileSync(list, "utf8") : execFileSync("pgrep", ["-P", `${this.pid}`], { encoding: "utf8" });
    return children.split(/\s+/).filter(Boolean).map(Number);
  }

  get cookie(): string {
    return `qkv-studio-${this.port}=${this.token}`;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** A request as it is given, whatever a browser would make of it. */
  get(path: string, headers: Readonly<Record<string, string>> = { cookie: this.cookie }, method = "GET"): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const asked = request({ host: "127.0.0.1", port: this.port, path, method, headers }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (piece: string) => {
          text += piece;
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
      });
      asked.on("error", reject).end();
    });
  }

  socket(headers: Readonly<Record<string, string>> = { cookie: this.cookie, origin: this.origin }): NodeSocket {
    const socket = new NodeSocket(`ws://127.0.0.1:${this.port}/socket`, { headers });
    socket.on("error", () => {});
    this.#pages.push(socket);
    return socket;
  }

  /** A page of it, that tells whenever it is connected anew. */
  async page(connected: (computer: Computer) => void = () => {}): Promise<Computer> {
    return new Promise((resolve, reject) => {
      const ready = (computer: Computer) => {
        connected(computer);
        resolve(computer);
      };
      const waits = { first: 50, longest: 200 };
      connectHouse({ ready, lost: () => {} }, { connect: () => this.socket() as unknown as WebSocket, waits }).catch(reject);
    });
  }

  /** All pages go without a word. */
  leave(): void {
    for (const page of this.#pages) page.terminate();
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }

  /** Its exit code. */
  stop(signal: "SIGINT" | "SIGTERM" = "SIGINT"): Promise<number | null> {
    this.#child.kill(signal);
    return this.#ended;
  }
}

export { within };
