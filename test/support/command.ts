import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterAll, expect } from "vitest";

// The real command, as a person runs it: a process of its own, in a folder of its own, with a cache of its own.

const main = join(import.meta.dirname, "../../dist/cli/main.js");

export interface Result {
  /** Null where a signal ended the process. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Training that takes less than a second. */
export const tiny = "--layers 1 --heads 1 --width 16 --context 16 --batch 4 --steps 6 --threads 1".split(" ");

export class Running {
  readonly ended: Promise<Result>;
  readonly #child: ChildProcessWithoutNullStreams;
  #stdout = "";
  #stderr = "";

  constructor(child: ChildProcessWithoutNullStreams, input: string | Uint8Array) {
    this.#child = child;
    child.stdin.on("error", () => {}); // a command that fails at once reads nothing
    child.stdin.end(input);
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      this.#stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr += text;
    });
    this.ended = new Promise((resolve, reject) => {
      child.on("error", reject);
      child.on("close", (code) => resolve({ code, stdout: this.#stdout, stderr: this.#stderr }));
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Waits until standard error has it. */
  said(words: RegExp): Promise<void> {
    return this.#until(words, () => this.#stderr);
  }

  /** Waits until standard output has it. */
  printed(words: RegExp): Promise<void> {
    return this.#until(words, () => this.#stdout);
  }

  async #until(words: RegExp, text: () => string): Promise<void> {
    let over = false;
    this.ended.finally(() => {
      over = true;
    });
    while (!words.test(text())) {
      if (over) throw new Error(`the command ended without saying ${words}; it said:\n${this.#stderr}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  signal(name: "SIGINT" | "SIGKILL" | "SIGTERM"): void {
    this.#child.kill(name);
  }
}

/** A temporary folder to work in; it goes when the tests of the file are over. */
export class Workplace {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), "qkv-journey-")));

  constructor() {
    afterAll(() => rmSync(this.folder, { recursive: true, force: true }));
  }

  path(...names: readonly string[]): string {
    return join(this.folder, ...names);
  }

  write(name: string, content: string | Uint8Array): string {
    const file = this.path(name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    return file;
  }

  start(...args: readonly string[]): Running {
    return this.#start("", args);
  }

  #start(input: string | Uint8Array, args: readonly string[]): Running {
    const env = { ...process.env, XDG_CACHE_HOME: this.path(".cache"), NO_COLOR: "1" };
    return new Running(spawn(process.execPath, [main, ...args], { cwd: this.folder, env }), input);
  }

  /** With something on standard input. */
  fed(input: string | Uint8Array, ...args: readonly string[]): Promise<Result> {
    return this.#start(input, args).ended;
  }

  qkv(...args: readonly string[]): Promise<Result> {
    return this.start(...args).ended;
  }

  /** The same, where anything but success is a failure of the test. */
  async done(...args: readonly string[]): Promise<Result> {
    const result = await this.qkv(...args);
    expect(result.code, result.stderr).toBe(0);
    return result;
  }
}

/** One sentence on standard error, nothing on standard output, no stack trace. */
export function expectRefusal({ code, stdout, stderr }: Result, expected: number, sentence: string | RegExp): void {
  expect(stderr).toMatch(sentence);
  expect(stderr).not.toMatch(/^\s+at .*:\d+:\d+|node:internal|unexpected, and a mistake in qkv/m);
  expect(
    stderr
      .trimEnd()
      .split("\n")
      .filter((line) => /^\w*[eE]rror: /.test(line)),
    stderr,
  ).toHaveLength(1);
  expect(stdout).toBe("");
  expect(code, stderr).toBe(expected);
}

/** A digest of every file of a folder, by its path. */
export function contents(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const digest = (file: string) => createHash("sha256").update(readFileSync(file)).digest("hex");
  return Object.fromEntries(
    files
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
      .map((file) => [relative(folder, file), digest(file)]),
  );
}

/** What must be the same whenever and however often a run was stopped: all weights, the optimizer's state, and the log without its times. */
export function outcome(folder: string): { readonly files: Record<string, string>; readonly log: readonly unknown[] } {
  const files = Object.entries(contents(folder)).filter(([name]) => name.endsWith(".safetensors"));
  const log = readFileSync(join(folder, "log.jsonl"), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => {
      const { seconds: _, tokensPerSecond: __, ...rest } = JSON.parse(line);
      return rest;
    });
  return { files: Object.fromEntries(files), log };
}
