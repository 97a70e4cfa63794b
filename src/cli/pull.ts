import { Option } from "commander";
import { type PullEvent, type PullOptions, pull, usualEndpoint } from "../library/pull.ts";
import { bareCommand } from "./commands.ts";
import { addFlags } from "./flags.ts";
import { duration, type Screen } from "./terminal.ts";

const flags: readonly Option[] = [
  new Option("--out <folder>", "the folder to write, whole or not at all").makeOptionMandatory(),
  new Option("--revision <name>", "a branch, a tag or a commit (default main)"),
  new Option("--gguf <file>", "one .gguf file of the model, and nothing else"),
  new Option("--endpoint <url>", `the hub, or a mirror of it (default ${usualEndpoint})`).env("HF_ENDPOINT"),
  new Option("--overwrite", "replace a model that is there"),
  new Option("--quiet", "no progress"),
  new Option("--json", "print one line of JSON and nothing else"),
];

interface Options extends Omit<PullOptions, "listen" | "token"> {
  readonly quiet?: boolean;
  readonly json?: boolean;
}

export const pullCommand = addFlags(bareCommand("pull"), flags);

pullCommand.action(async (id: string, { quiet, json, ...options }: Options) => {
  const progress = quiet ? undefined : new DownloadProgress(process.stderr, () => performance.now() / 1000);
  const token = process.env.HF_TOKEN?.trim() || undefined; // never a flag: other users of a machine see those
  const done = await pull(id, { ...options, token, listen: (event) => progress?.show(event) }).finally(() => progress?.end());
  const { folder, files, bytes, commit } = done;
  console.log(json ? JSON.stringify(done) : `${folder}: ${files.length} files, ${megabytes(bytes)}, commit ${commit.slice(0, 12)}`);
});

const megabytes = (bytes: number): string => `${(bytes / 1e6).toLocaleString("en", { maximumFractionDigits: 1 })} MB`;

const secondsBetween = (screen: Screen): number => (screen.isTTY ? 0.1 : 10);

/** A line that renews itself in a terminal, a line now and then elsewhere. */
class DownloadProgress {
  readonly #screen: Screen;
  readonly #clock: () => number;
  readonly #begin: number;
  #shown: number;
  #line = false;

  constructor(screen: Screen, clock: () => number) {
    this.#screen = screen;
    this.#clock = clock;
    this.#begin = clock();
    this.#shown = Number.NEGATIVE_INFINITY;
  }

  show({ file, bytes, begun, total }: PullEvent): void {
    const now = this.#clock();
    if (now - this.#shown < secondsBetween(this.#screen)) return;
    this.#shown = now;
    const rate = Math.max(1, (bytes - begun) / Math.max(1e-3, now - this.#begin));
    const facts = `${megabytes(bytes)} of ${megabytes(total)}  ${megabytes(rate)}/s  ${duration((total - bytes) / rate)} left  ${file}`;
    this.#line = this.#screen.isTTY ?? false;
    if (!this.#line) this.#screen.write(`${facts}\n`);
    else this.#screen.write(`\r\x1b[K${facts.slice(0, Math.max(20, (this.#screen.columns ?? 100) - 1))}`);
  }

  /** Takes the line away that renews itself, for what is said next. */
  end(): void {
    if (this.#line) this.#screen.write("\r\x1b[K");
  }
}
