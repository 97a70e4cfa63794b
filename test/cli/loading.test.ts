import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const dist = join(import.meta.dirname, "../../dist");

/** The modules that a command loads: ours by their places, which the pieces of the built command name, others by their packages. Node writes down for coverage what it loads. */
function loadedBy(...args: readonly string[]): Set<string> {
  const folder = mkdtempSync(join(tmpdir(), "qkv-loading-"));
  try {
    spawnSync(process.execPath, [join(dist, "cli/main.js"), ...args], { env: { ...process.env, NODE_V8_COVERAGE: folder } });
    const reports = readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")));
    const urls: string[] = reports.flatMap(({ result }) => result.map(({ url }: { url: string }) => url));
    const files = urls.filter((url) => url.startsWith("file:")).map((url) => fileURLToPath(url));
    return new Set(
      files.flatMap((file) => {
        const others = /node_modules\/((?:@[^/]*\/)?[^/]*)/.exec(file)?.[1];
        if (others) return [others];
        const pieces = readFileSync(file, "utf8").matchAll(/^\/\/ (?:dist\/(\S+)|node_modules\/((?:@[^/]*\/)?[^/]*)\/\S+)$/gm);
        return [...pieces].map(([, own, other]) => own ?? other);
      }),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

it.each([["--version"], ["--help"], ["trian"]])("qkv %s loads no command", (word) => {
  const own = ["base/errors.js", "base/sentence.js", "cli/commands.js", "cli/flag-words.js", "cli/main.js"];
  const flags = ["models/option.js", "models/options.js", "training/options.js"]; // plain data: what flags there are
  const others = ["commander", "node/version.js", "processes/launcher.js"];
  expect([...loadedBy(word)].sort()).toEqual([...own, ...flags, ...others].sort());
});

it.each([
  ["train", "--help"],
  ["help", "train"],
])("qkv %s %s loads train, and no other command", (...words) => {
  const files = loadedBy(...words);
  expect([files.has("cli/train.js"), files.has("cli/look.js"), files.has("onnxruntime-node")]).toEqual([true, false, false]);
});
