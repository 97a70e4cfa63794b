// Builds dist/: the WebAssembly kernels become a TypeScript file with their bytes (so that a browser needs no second file), the interactive
// page becomes one with its script and its style, then tsc.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, copyFileSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, buildSync } from "esbuild";
import { pageSystem } from "./page-system.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const run = (script, ...args) =>
  execFileSync(process.execPath, [join(root, "node_modules", script), ...args], { cwd: root, stdio: "inherit" });

const asc = ["--optimizeLevel", "3", "--runtime", "stub", "--enable", "simd", "--importMemory", "--noAssert"];
const folder = mkdtempSync(join(tmpdir(), "qkv-build-"));
for (const kernel of ["src/base/threefry", "src/training/kernels", "src/web/storage/hash"]) {
  const wasm = join(folder, "kernel.wasm");
  run("assemblyscript/bin/asc.js", `${kernel}.as.ts`, "-o", wasm, ...asc);
  const bytes = readFileSync(wasm).toString("base64");
  const note = `// Made by scripts/build.mjs from ${basename(kernel)}.as.ts.`;
  writeFileSync(join(root, `${kernel}.wasm.ts`), `${note}\nexport const kernelBytes =\n  "${bytes}";\n`);
}
rmSync(folder, { recursive: true });

const bundled = (file, options) => {
  const { outputFiles } = buildSync({ entryPoints: [join(root, "page", file)], bundle: true, minify: true, write: false, ...options });
  return outputFiles[0].text.trim();
};
const hash = (text) => createHash("sha256").update(text).digest("base64");
/** A page's script and style as a file of TypeScript, under these names, with the hashes that its policy allows. */
const writePage = (folder, to, [scriptName, styleName]) => {
  const script = bundled(`${folder}main.ts`, { format: "iife", target: "es2022", charset: "utf8", legalComments: "none" });
  const style = bundled(`${folder}style.css`, { charset: "utf8" });
  writeFileSync(
    join(root, to),
    `// Made by scripts/build.mjs from page/${folder}. The hashes are what the page's policy allows.
export const ${scriptName} = ${JSON.stringify(script)};
export const ${styleName} = ${JSON.stringify(style)};
export const scriptHash = "${hash(script)}";
export const styleHash = "${hash(style)}";
`,
  );
};
writePage("", "src/pictures/page.bundle.ts", ["pageScript", "pageStyle"]);
writePage("try/", "src/server/try.bundle.ts", ["tryScript", "tryStyle"]);

rmSync(join(root, "dist"), { recursive: true, force: true });
run("typescript/bin/tsc", "-p", "tsconfig.build.json");

// The command, in pieces that are loaded when they are wanted: hundreds of small files take longer to open than most of what they do. What it starts as processes of
// its own lies beside it, where it looks for them.
const command = {
  "model-main": "processes/model-main.js",
  "child-main": "studio/child-main.js",
  main: "cli/main.js",
  start: "cli/start.js",
};
const {
  dependencies: needed,
  optionalDependencies: wished,
  peerDependencies: peers,
} = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const dependencies = Object.keys({ ...needed, ...wished, ...peers });
const many = ["zod", "@bufbuild/protobuf", "csv-parse"]; // plain code in many small files, of which a command wants a few
const pieces = join(root, "dist/command");
const inCommand = await build({
  metafile: true,
  absWorkingDir: root, // comments in the pieces name the modules by their places below it, which a test reads
  outdir: pieces,
  entryPoints: Object.fromEntries(Object.entries(command).map(([name, file]) => [name, join(root, "dist", file)])),
  bundle: true,
  splitting: true,
  chunkNames: "[name]-[hash]",
  platform: "node",
  format: "esm",
  target: "node20",
  external: dependencies.filter((name) => !many.includes(name)),
  logLevel: "error",
});
rmSync(join(root, "dist/cli"), { recursive: true });
renameSync(pieces, join(root, "dist/cli"));

// What a page loads: the door qkv/web, and the worker that computes, in pieces that are loaded when they are wanted; and once more as one file, for apps
// whose bundler takes a worker as it is.
const page = {
  metafile: true,
  absWorkingDir: root,
  outdir: join(root, "dist/page"),
  bundle: true,
  minify: true,
  platform: "browser",
  format: "esm",
  target: "es2022",
  legalComments: "none",
  plugins: [pageSystem()],
  logLevel: "error",
};
const [door, worker] = ["src/entries/web.ts", "src/worker/main.ts"].map((file) => join(root, file));
const inPage = await build({ ...page, entryPoints: { qkv: door, worker }, splitting: true, chunkNames: "[name]-[hash]" });
await build({ ...page, entryPoints: { "worker-whole": worker } });

// The studio: its app in pieces, its style, and the beginning of a book for a first visit.
const studio = join(root, "dist/app");
const inStudio = await build({
  ...page,
  outdir: studio,
  entryPoints: { app: join(root, "studio/main.tsx"), style: join(root, "studio/style.css") },
  splitting: true,
  chunkNames: "[name]-[hash]",
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
});
copyFileSync(join(root, "studio/index.html"), join(studio, "index.html"));
const book = readFileSync(join(root, "data/moby-dick.txt"), "utf8");
writeFileSync(join(studio, "book.txt"), book.slice(0, book.lastIndexOf("\n", 160_000) + 1));
chmodSync(join(root, "dist/cli/main.js"), 0o755);

// Whose code is in these files, and under which terms.
const packagesIn = ({ metafile }) =>
  Object.keys(metafile.inputs).flatMap((file) => /.*node_modules\/((?:@[^/]*\/)?[^/]*)\//.exec(file)?.[1] ?? []);
const stray = packagesIn(inCommand).find((name) => !many.includes(name));
if (stray) throw new Error(`${stray} is in the command's pieces: is it a dependency?`);
const others = new Set([inCommand, inPage, inStudio].flatMap(packagesIn));
const terms = [...others].sort().map((name) => {
  const place = join(root, "node_modules", name);
  const { version, license, repository } = JSON.parse(readFileSync(join(place, "package.json"), "utf8"));
  const file = readdirSync(place).find((one) => /^licen[cs]e/i.test(one));
  const text = file ? readFileSync(join(place, file), "utf8").trim() : (repository?.url ?? repository ?? "");
  return `${name} ${version} (${license})\n\n${text}\n`;
});
const rule = `\n${"-".repeat(80)}\n\n`;
writeFileSync(
  join(root, "dist/THIRD-PARTY.txt"),
  `Code of others that is in the files of this folder, and its terms.\n${rule}${terms.join(rule)}`,
);
