import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { pageSystem } from "../../scripts/page-system.mjs";

// Code as a page gets it: bundled from src, with our stand-ins in the place of Node's modules.

const root = join(import.meta.dirname, "../..");

/** A script made of lines of TypeScript, whose imports are counted from the root of this repository. */
export async function pageBundle(code: string, options: { readonly minify?: boolean } = {}): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir: root, loader: "ts", sourcefile: "entry.ts" },
    bundle: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    write: false,
    external: ["onnxruntime-node"],
    plugins: [pageSystem()],
    logLevel: "silent",
    absWorkingDir: root,
    ...options,
  });
  return outputFiles[0].text;
}

/** The same, run here: Node plays the page, and nothing in it speaks to Node's own modules. */
export async function importPageBundle<Exports>(code: string): Promise<Exports> {
  const folder = mkdtempSync(join(tmpdir(), "qkv-bundle-"));
  try {
    const file = join(folder, "bundle.mjs");
    writeFileSync(file, await pageBundle(code));
    return (await import(pathToFileURL(file).href)) as Exports;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
