import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";

// The packed package, installed into an empty project, as a user gets it.

const root = join(import.meta.dirname, "..");
const project = mkdtempSync(join(tmpdir(), "qkv-project-"));
const run = (command: string, ...args: string[]) =>
  execFileSync(command, args, { cwd: project, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

describe("the packed package", () => {
  let files: string[] = [];
  let packed = "";

  beforeAll(() => {
    const [made] = JSON.parse(
      execFileSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", project], { cwd: root, encoding: "utf8" }),
    ) as [{ filename: string; files: { path: string }[] }];
    files = made.files.map(({ path }) => path);
    packed = made.filename;
    writeFileSync(join(project, "package.json"), JSON.stringify({ type: "module", private: true }));
    run("npm", "install", join(project, packed), "--ignore-scripts", "--no-audit", "--no-fund");
  }, 240_000);

  it("holds the built code, the types, the data of recipes and the licence, and nothing else", () => {
    expect(files).toContain("dist/entries/qkv.d.ts");
    expect(files).toContain("LICENSE");
    expect(files).toContain("dist/THIRD-PARTY.txt");
    expect(
      files.filter(
        (path) =>
          !/^(dist\/.*\.(js|d\.ts)|dist\/app\/(index\.html|style\.css|book\.txt)|dist\/THIRD-PARTY\.txt|package\.json|README\.md|CHANGELOG\.md|LICENSE|data\/(moby-dick\.txt|pronounce-tokenizer\.json))$/.test(
            path,
          ),
      ),
    ).toEqual([]);
  });

  it("runs npx qkv --help and --version", () => {
    expect(run("npx", "qkv", "--help")).toContain("Usage: qkv [options] [command]");
    expect(run("npx", "qkv", "--version").trim()).toBe(JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version);
  });

  const strict = [
    ...["--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--module", "nodenext", "--target", "es2022"],
    ...["--types", "node", "--typeRoots", join(root, "node_modules/@types")],
  ];
  const compiled = (file: string) =>
    execFileSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), ...strict, file], { cwd: project, encoding: "utf8" });

  it("compiles strictly against every entry, whose names are there and few", async () => {
    const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const entries = Object.keys(exports).filter((name) => !["./package.json", "./web/worker"].includes(name)); // a worker is no door
    expect(entries).toEqual([".", "./graph", "./training", "./generation", "./inspect", "./pictures", "./hub", "./server", "./web"]);
    const lines = entries.map((entry, i) => `import * as entry${i} from "qkv${entry.slice(1)}";`);
    const counts = entries.map((entry, i) => `"${entry}": Object.keys(entry${i}).length`);
    writeFileSync(join(project, "entries.ts"), `${lines.join("\n")}\nconsole.log(JSON.stringify({ ${counts.join(", ")} }));\n`);
    compiled("entries.ts");
    const found: Record<string, number> = JSON.parse(run(process.execPath, "entries.js"));
    expect(found["."]).toBeLessThan(60);
    for (const entry of entries) expect(found[entry], entry).toBeGreaterThan(["./server", "./web"].includes(entry) ? 2 : 10);
  }, 60_000);

  it("imports with types, and the README's second program, which needs no files, compiles and runs", () => {
    const [, [, code]] = readFileSync(join(root, "README.md"), "utf8").matchAll(/```ts\n(.*?)```/gs);
    writeFileSync(join(project, "first.ts"), code);
    const loose = strict.filter((flag) => flag !== "--noUncheckedIndexedAccess"); // which no short program survives
    execFileSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), ...loose, "first.ts"], { cwd: project });
    expect(readdirSync(project)).toContain("first.js");
    expect(run(process.execPath, "first.js")).toMatch(/step 0: loss [\d.]+\n.*step 100: loss 0\.0/s);
  }, 60_000);

  it("runs the README's first program by the steps that are printed there, in an empty folder", () => {
    const [, section] = readFileSync(join(root, "README.md"), "utf8").split("## The first program");
    const [, steps] = section.match(/```sh\n(.*?)```/s) ?? [];
    const [, code] = section.match(/```ts\n(.*?)```/s) ?? [];
    const empty = mkdtempSync(join(tmpdir(), "qkv-first-"));
    const shell = (command: string) =>
      execFileSync("sh", ["-c", command], { cwd: empty, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
    expect(steps).toContain("npm install qkv");
    shell(steps.replace("npm install qkv", `npm install "${join(project, packed)}" --ignore-scripts --no-audit --no-fund`));
    const brief = code.replace(/steps: \d+/, "steps: 3"); // a minute otherwise
    writeFileSync(join(empty, "first.mjs"), brief);
    expect(section).toContain("`node first.mjs`");
    expect(shell("node first.mjs")).toMatch(/\S/); // after three steps it may end early
    writeFileSync(join(empty, "first.mts"), brief);
    execFileSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), ...strict, "--noEmit", "first.mts"], { cwd: empty });
    expect(readdirSync(join(empty, "runs"))).toEqual(["moby-dick-lm"]);
  }, 180_000);

  it("says how to install the engine where it is missing", () => {
    run("npm", "uninstall", "onnxruntime-node", "--no-audit", "--no-fund");
    run("rm", "-rf", "node_modules/onnxruntime-node");
    expect(run("npx", "qkv", "--version")).toMatch(/\d/);
    const failing = () => run(process.execPath, "first.js");
    expect(failing).toThrow(/onnxruntime-node could not be loaded.*npm install onnxruntime-node --ignore-scripts/s);
  }, 60_000);
});
