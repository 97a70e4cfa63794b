import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { join } from "node:path";
import { afterAll } from "vitest";
import type { LogLine, RequestLine } from "../../src/server/server.ts";
import { asJsonl, moods, pairs, rhyme, words } from "../journeys/samples.ts";
import { tiny, type Workplace } from "./command.ts";
import { minilmFolder } from "./open-models.ts";

// The real server, as a person starts it, and small models for it.

const root = join(import.meta.dirname, "../..");
const main = join(root, "dist/cli/main.js");

/** Every server of a file is ended after its tests. What is said inside a hook about the end of the file is not heard, so this is said here. */
const all: Served[] = [];
afterAll(async () => {
  await Promise.all(all.map((served) => served.stop()));
});

export class Served {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly models: readonly string[];
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #ended: Promise<number | null>;
  #stderr = "";

  private constructor(
    child: ChildProcessWithoutNullStreams,
    said: { url: string; port: number; pid: number; models: string[] },
    before: string,
  ) {
    this.#child = child;
    this.#stderr = before;
    child.stderr.on("data", (text: string) => {
      this.#stderr += text;
    });
    this.#ended = new Promise((resolve) => child.once("close", (code) => resolve(code)));
    ({ url: this.url, port: this.port, pid: this.pid, models: this.models } = said);
  }

  /** Starts `qkv serve`, waits until it listens, and ends it after the tests of the file. */
  static async start(place: Workplace, args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Served> {
    const { QKV_API_KEY: _, ...env } = process.env;
    const child = spawn(process.execPath, [main, "serve", ...args, "--port", "0", "--json", "--threads", "1"], {
      cwd: place.folder,
      env: { ...env, XDG_CACHE_HOME: place.path(".cache"), NO_COLOR: "1", ...more },
    });
    child.stdin.end();
    child.stderr.setEncoding("utf8");
    let [stdout, stderr] = ["", ""];
    const early = (text: string) => {
      stderr += text;
    };
    child.stderr.on("data", early);
    const line = await new Promise<string>((resolve, reject) => {
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        stdout += text;
        if (stdout.includes("\n")) resolve(stdout);
      });
      child.once("close", (code) => reject(new Error(`the server ended with ${code} before it listened; it said:\n${stderr}`)));
    });
    child.stderr.off("data", early);
    const served = new Served(child, JSON.parse(line), stderr);
    all.push(served);
    return served;
  }

  /** What it has written to its log so far. */
  get log(): readonly LogLine[] {
    return this.#stderr
      .slice(0, this.#stderr.lastIndexOf("\n") + 1)
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as LogLine);
  }

  get requests(): readonly RequestLine[] {
    return this.log.filter((line): line is RequestLine => line.event === "request");
  }

  /** With the path, and whatever else a request has. */
  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.url}${path}`, init);
  }

  post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return this.fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  }

  /** A number of /metrics, the sum over all labels. */
  async metric(name: string): Promise<number> {
    const text = await (await this.fetch("/metrics")).text();
    const lines = text.split("\n").filter((line) => line.startsWith(name) && /^[ {]/.test(line.slice(name.length)));
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
  }

  /** Its exit code. */
  stop(): Promise<number | null> {
    this.#child.kill("SIGTERM");
    return this.#ended;
  }
}

/** Asks again until it holds, at most so many milliseconds. */
export async function within(milliseconds: number, holds: () => boolean | Promise<boolean>): Promise<boolean> {
  const until = performance.now() + milliseconds;
  while (performance.now() < until) {
    if (await holds()) return true;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return holds();
}

const small = [...tiny, "--quiet"];

/** What is trained in a second each; `context` of the writers is 64, so that there is something to write. */
const recipes = {
  decoder: { file: "rhyme.txt", content: rhyme, flags: [...small, "--tokenizer", "char", "--context", "64"] },
  rnn: {
    file: "rhyme.txt",
    content: rhyme,
    flags: "--model rnn --layers 1 --width 16 --context 16 --batch 4 --steps 6 --threads 1 --quiet".split(" "),
  },
  translator: { file: "pairs.tsv", content: pairs, flags: small },
  classifier: { file: "moods.tsv", content: moods, flags: small },
  tagger: { file: "words.tsv", content: words, flags: small },
  /** One that has learned something: what a capital is. */
  capitals: {
    file: "capitals.jsonl",
    content: asJsonl(
      [
        ["Peru", "Lima"],
        ["Cuba", "Havana"],
        ["Egypt", "Cairo"],
        ["Kenya", "Nairobi"],
      ].map(([land, town]) => ({ prompt: `The capital of ${land} is`, completion: ` ${town}.` })),
    ),
    flags: "--layers 1 --heads 2 --width 48 --batch 4 --threads 1 --valid-fraction 0 --steps 150 --quiet".split(" "),
  },
} as const;

export type SmallModel = keyof typeof recipes;

/** Trains one of the small models with the command; its folder is called like it. */
export async function trainSmall(place: Workplace, ...names: readonly SmallModel[]): Promise<void> {
  for (const name of names) {
    const { file, content, flags } = recipes[name];
    place.write(file, content);
    await place.done("train", file, ...flags, "--out", name);
  }
}

/** A tiny model of the tests, as Hugging Face has it. */
export const hubModel = (name: string): string => join(root, "test/hub/models", name);
/** With a chat template, and a context of 256 tokens. */
export const chatModel = join(root, "test/hub/chat-model");
export const minilm = (place: Workplace): string => minilmFolder(place.path("minilm"));
