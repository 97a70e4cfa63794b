import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import * as layers from "../src/layers/index.ts";
import { modelSchemas } from "../src/models/config.ts";
import * as ops from "../src/ops/index.ts";

// The reference as `npm run docs` makes it, from the build.

const root = join(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "qkv-reference-"));
afterAll(() => rmSync(folder, { recursive: true }));
const read = (...names: string[]) => readFileSync(join(...names), "utf8");
/** Fails where something has no description. */
execFileSync(process.execPath, [join(root, "scripts/docs.mjs"), folder], { encoding: "utf8", stdio: "pipe" });

it.each(["ops.md", "layers.md", "models.md"])("docs/api/%s is what npm run docs makes now", (page) => {
  expect(read(root, "docs/api", page)).toBe(read(folder, page));
});

describe("has", () => {
  const headings = (page: string) => [...read(folder, page).matchAll(/^## (\S+)$/gm)].map(([, name]) => name);

  it("every op, every layer and every option of every model", () => {
    expect(headings("ops.md")).toEqual(expect.arrayContaining(Object.keys(ops)));
    expect(headings("layers.md").toSorted()).toEqual(Object.keys(layers).toSorted());
    const sections = read(folder, "models.md").split(/^## /m).slice(1);
    expect(sections.map((section) => section.split("\n")[0])).toEqual(Object.keys(modelSchemas));
    for (const [i, { shape }] of Object.values(modelSchemas).entries())
      for (const name of Object.keys(shape).filter((name) => name !== "model"))
        expect(sections[i], name).toMatch(new RegExp(`^\\| \`${name}\` \\| \\S.* \\| .* \\| \\S.* \\|$`, "m"));
  });

  it("a page for each door, with the gradient rule of an op beside its types", () => {
    const { exports } = JSON.parse(read(root, "package.json"));
    expect(readdirSync(join(folder, "doors")).length).toBe(Object.keys(exports).length - 2); // package.json and a worker are no doors
    expect(headings("doors/qkv.md")).toEqual(expect.arrayContaining(["train", "open", "defineModel"]));
    expect(read(folder, "ops.md")).toContain("- types: float32[a, b] → float32[a, b]\n- FLOPs: 5*a*b\n- gradient: `");
  });
});

it("no function has lost the names of its parameters on the way to an editor", () => {
  const files = readdirSync(join(root, "dist"), { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".d.ts"));
  expect(files.length).toBeGreaterThan(100);
  const lost = files.flatMap((name) =>
    [...read(root, "dist", name).matchAll(/.*\b(?:rest|args|__)_?\d+\??:.*/g)].map(([line]) => `${name}: ${line}`),
  );
  expect(lost).toEqual([]);
  expect(read(root, "dist/layers/linear.d.ts")).toMatch(/dense: \(p: .*Scope, x: Tensor.*, out: DimLike, options\?: DenseOptions/);
});
