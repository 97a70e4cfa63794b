import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";

// Every TypeScript block of the README and the docs runs, and so does every command of the docs, on the files that they show.

const root = join(import.meta.dirname, "..");
const pages = ["README.md", "docs/models.md", "docs/data.md", "docs/training.md"];

function blocks(page: string): string[] {
  return [...readFileSync(join(root, page), "utf8").matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code);
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe.each(pages)("%s", (page) => {
  const folder = join(root, "node_modules/.docs");
  mkdirSync(folder, { recursive: true });
  const own = mkdtempSync(join(folder, "page-"));

  it.each(blocks(page).map((code, i) => [i + 1, code] as const))("block %i runs", async (i, code) => {
    const printed: unknown[] = [];
    vi.spyOn(console, "log").mockImplementation((...values) => printed.push(...values));
    const file = join(own, `block-${i}.ts`);
    writeFileSync(file, code.replaceAll('from "qkv"', `from "${join(root, "src/index.ts")}"`));
    await import(file);
    expect(printed.length).toBeGreaterThan(0);
    if (page === "README.md" && i === 1) {
      const losses = printed.map((line) => Number(`${line}`.split("loss ")[1]));
      expect(losses).toHaveLength(6);
      expect(losses[5]).toBeLessThan(losses[0] / 20);
    }
    if (page === "README.md" && i === 2) expect(printed).toEqual([[1, 3, 3], 0]);
    if (page === "README.md" && i === 3) {
      expect(printed[0]).toBe(124_439_808);
      expect(Number(`${printed.at(-1)}`.split("loss ")[1])).toBeLessThan(0.5);
    }
  });

  it("shows code", () => expect(blocks(page).length).toBeGreaterThan(0));
});

it("the README's first program has at most fifteen lines of code", () => {
  const lines = blocks("README.md")[0]
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("import"));
  expect(lines.length).toBeLessThanOrEqual(15);
});

it.each(["docs/data.md", "docs/training.md"])(
  "the commands of %s run, on the files that it shows",
  (name) => {
    const page = readFileSync(join(root, name), "utf8");
    const folder = mkdtempSync(join(tmpdir(), "qkv-docs-"));
    for (const [, file, text] of page.matchAll(/```\w+ file=(\S+)\n(.*?)```/gs)) writeFileSync(join(folder, file), text);
    const commands = [...page.matchAll(/```sh\n(.*?)```/gs)].flatMap(([, block]) => block.trim().split("\n"));
    expect(commands.length).toBeGreaterThan(2);
    for (const command of commands) {
      const [npx, qkv, ...args] = command.split(" ");
      expect([npx, qkv]).toEqual(["npx", "qkv"]);
      const env = { ...process.env, XDG_CACHE_HOME: join(folder, "cache") };
      const options = { cwd: folder, env, encoding: "utf8", stdio: "pipe" } as const;
      expect(execFileSync(process.execPath, [join(root, "dist/cli/main.js"), ...args], options)).not.toBe("");
    }
    rmSync(folder, { recursive: true });
  },
  120_000,
);
