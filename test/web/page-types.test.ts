import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";

// What the code of run folders asks of Node's modules, the stand-ins of a page take: it is checked once more with their types in the place of Node's.

it("the code of run folders fits the stand-ins for Node's modules", () => {
  const root = join(import.meta.dirname, "../..");
  const { stdout } = spawnSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", "scripts/page-types"], {
    cwd: root,
    encoding: "utf8",
  });
  const said = stdout.split("\n").filter((line) => line !== "" && !line.startsWith(" "));
  expect(said.some((line) => line.startsWith("src/node/"))).toBe(true); // which is replaced in a page, and shows that Node's types are not there
  expect(said.filter((line) => !line.startsWith("src/node/"))).toEqual([]);
});
