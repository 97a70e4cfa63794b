import { existsSync, readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, extname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { RunError } from "../base/errors.ts";
import { buildFiles } from "../web/onnxruntime.ts";

// The files of the app, by the addresses under which it looks for them, relative to its page: the app itself, `page/` with the worker that computes in a
// page, and `onnxruntime/` with what that worker computes with.

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".txt": "text/plain; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
  ".wasm": "application/wasm",
};

export interface AppFile {
  readonly path: string;
  readonly type: string;
  /** In bytes, when it was found. */
  readonly size: number;
}

const folderIn = (name: string): string => fileURLToPath(new URL(`../${name}/`, import.meta.url));

/** Where onnxruntime-web's files are, if it is installed. */
export function engineFolder(): string | undefined {
  try {
    const folder = dirname(createRequire(import.meta.url).resolve("onnxruntime-web"));
    return existsSync(join(folder, buildFiles[0])) ? folder : undefined;
  } catch {
    return undefined;
  }
}

/** All of them; nothing else can be asked for. */
export function appFiles(app = folderIn("app")): ReadonlyMap<string, AppFile> {
  if (!existsSync(join(app, "index.html")))
    throw new RunError(`the app of the studio is not in ${app}; build it with: npm run build`, { code: "run.missing" });
  const engine = engineFolder();
  const worker = folderIn("page");
  const entries = [
    ...filesIn(app).map((name) => [name, join(app, name)] as const),
    ...filesIn(worker)
      .filter((name) => name !== "qkv.js" && name !== "worker-whole.js") // the door and the single file are for other apps
      .map((name) => [`page/${name}`, join(worker, name)] as const),
    ...(engine === undefined ? [] : buildFiles.map((name) => [`onnxruntime/${name}`, join(engine, name)] as const)),
  ];
  return new Map(
    entries.flatMap(([name, path]) =>
      types[extname(name)] ? [[name, { path, type: types[extname(name)], size: statSync(path).size }]] : [],
    ),
  );
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join("/"));

/** The page says where it computes; in the files it is the page itself. */
export const inHouse = (html: string): string => html.replace(/(<meta name="qkv-place" content=")page(")/, "$1house$2");
