import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";

// Every TypeScript block of the README and the docs runs.

const root = join(import.meta.dirname, "..");
const pages = ["README.md", "docs/models.md"];

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
