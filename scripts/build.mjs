// Builds dist/: the WebAssembly kernels become a TypeScript file with their bytes (so that a browser needs no second file), then tsc.
import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const run = (script, ...args) =>
  execFileSync(process.execPath, [join(root, "node_modules", script), ...args], { cwd: root, stdio: "inherit" });

const asc = ["--optimizeLevel", "3", "--runtime", "stub", "--enable", "simd", "--importMemory", "--noAssert"];
const folder = mkdtempSync(join(tmpdir(), "qkv-build-"));
for (const kernel of ["src/base/threefry", "src/training/kernels"]) {
  const wasm = join(folder, "kernel.wasm");
  run("assemblyscript/bin/asc.js", `${kernel}.as.ts`, "-o", wasm, ...asc);
  const bytes = readFileSync(wasm).toString("base64");
  const note = `// Made by scripts/build.mjs from ${basename(kernel)}.as.ts.`;
  writeFileSync(join(root, `${kernel}.wasm.ts`), `${note}\nexport const kernelBytes =\n  "${bytes}";\n`);
}
rmSync(folder, { recursive: true });

rmSync(join(root, "dist"), { recursive: true, force: true });
run("typescript/bin/tsc", "-p", "tsconfig.build.json");
chmodSync(join(root, "dist/cli/main.js"), 0o755);
