// For bundles of a page, made from src: Node's modules are ours of src/web/system, `process` too, and what the room src/node knows of the machine is told
// by src/web/here, file by file, where there is one of the same name.
import { existsSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const src = fileURLToPath(new URL("../src/", import.meta.url));
const system = join(src, "web/system");

/** Node's modules, and the files that stand in for them. */
export const standIns = new Map(
  ["fs", "fs/promises", "path", "crypto", "os", "url", "module", "child_process"].map((name) => [
    `node:${name}`,
    join(system, `${name.replace(/[/_]/, "-")}.ts`),
  ]),
);

export function pageSystem() {
  return {
    name: "page-system",
    setup(build) {
      build.initialOptions.inject = [...(build.initialOptions.inject ?? []), join(system, "process.ts")];
      build.onResolve({ filter: /^node:/ }, ({ path, importer }) => {
        const file = standIns.get(path);
        if (file !== undefined) return { path: file };
        return { errors: [{ text: `${path} has no stand-in in src/web/system, and ${relative(src, importer)} wants it` }] };
      });
      build.onResolve({ filter: /^\.\.?\/.*\.ts$/ }, ({ path, resolveDir }) => {
        const file = join(resolveDir, path);
        if (dirname(file) !== join(src, "node")) return undefined;
        const here = join(src, "web/here", basename(file));
        return existsSync(here) ? { path: here } : undefined;
      });
    },
  };
}
