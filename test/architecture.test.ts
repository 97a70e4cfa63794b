import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { line, order } from "./support/folders.ts";

// The ordered list is the architecture: a folder imports only from folders above it, and the line says what runs anywhere.

const isMachine = (target: string): boolean => target.startsWith("node:") || target === "onnxruntime-node";

const root = join(import.meta.dirname, "../src");
const files = (readdirSync(root, { recursive: true }) as string[]).filter((file) => file.endsWith(".ts") && !file.endsWith(".as.ts"));

interface Import {
  readonly from: string;
  readonly target: string;
  readonly typeOnly: boolean;
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), "utf8").replace(/code: `\n[^`]*`/g, ""); // what a model card shows is imported by others
  const found = text.matchAll(/^(?:import|export)\s+(type\s)?[^;]*?from\s+"([^"]+)";|import\("([^"]+)"\)|^import\s+"([^"]+)";/gm);
  return [...found].map(([, typeOnly, a, b, c]) => ({ from: file, target: a ?? b ?? c, typeOnly: typeOnly !== undefined }));
}

const imports = files.flatMap(importsOf);
const resolve = ({ from, target }: Import): string => relative(root, join(root, dirname(from), target));
const own = imports.filter(({ target }) => target.startsWith("."));
const folder = (file: string): string => file.split("/")[0];

describe("the one-way rule", () => {
  it("knows every folder", () => {
    const folders = new Set(files.filter((file) => file.includes("/")).map(folder));
    for (const name of folders) expect(order).toContain(name);
    expect(own.length).toBeGreaterThan(100);
  });

  it("lets a folder import only from itself and the folders above it", () => {
    const wrong = own.filter((i) => order.indexOf(folder(resolve(i))) > order.indexOf(folder(i.from)));
    expect(wrong.map(({ from, target }) => `${from} imports ${target}`)).toEqual([]);
    expect(own.filter((i) => folder(resolve(i)) === "entries" && folder(i.from) !== "entries")).toEqual([]);
  });

  it("has no cycle among files (types, which vanish, aside)", () => {
    const next = new Map(files.map((file) => [file, own.filter((i) => i.from === file && !i.typeOnly).map(resolve)]));
    const state = new Map<string, "open" | "done">();
    const visit = (file: string, path: string[]): void => {
      if (state.get(file) === "done") return;
      expect(state.get(file), [...path, file].join(" → ")).toBeUndefined();
      state.set(file, "open");
      for (const target of next.get(file) ?? []) visit(target, [...path, file]);
      state.set(file, "done");
    };
    for (const file of files) visit(file, []);
  });

  it("reaches the machine only below the line, directly or through anything that is imported", () => {
    const next = new Map(files.map((file) => [file, own.filter((i) => i.from === file).map(resolve)]));
    const machine = new Map(imports.filter(({ target }) => isMachine(target)).map(({ from, target }) => [from, target]));
    /** The way from a file to the machine. */
    const way = (file: string, seen: Set<string>): string[] | undefined => {
      if (seen.has(file)) return undefined;
      seen.add(file);
      const direct = machine.get(file);
      if (direct !== undefined) return [file, direct];
      for (const target of next.get(file) ?? []) {
        const found = way(target, seen);
        if (found) return [file, ...found];
      }
      return undefined;
    };
    const above = files.filter((file) => order.indexOf(folder(file)) < line);
    expect(above.length).toBeGreaterThan(150);
    expect(above.flatMap((file) => way(file, new Set())?.join(" → ") ?? [])).toEqual([]);
    expect(way("entries/qkv.ts", new Set())).toBeDefined(); // and the search finds what is there
  });

  it("uses only packages that package.json names", () => {
    const { dependencies, optionalDependencies, imports: own } = JSON.parse(readFileSync(join(root, "../package.json"), "utf8"));
    const named = Object.keys({ ...dependencies, ...optionalDependencies });
    const packages = imports
      .flatMap(({ target }) => (target.startsWith("#") ? Object.values<string>(own[target]) : [target]))
      .filter((target) => !target.startsWith(".") && !target.startsWith("node:"));
    for (const name of packages) expect(named).toContain(name.startsWith("@") ? name.split("/").slice(0, 2).join("/") : name.split("/")[0]);
  });
});
