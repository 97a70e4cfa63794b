import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";

// The setting belongs to a process, so each case has one of its own.
const program = (denormals: string) => `
  import { array, compile, float32, mul, tensorFunction } from ${JSON.stringify(join(import.meta.dirname, "../../dist/entries/graph.js"))};
  const fn = tensorFunction({ x: float32([1]) }, (_, { x }) => ({ y: mul(x, 0.5) }));
  const { y } = await compile(fn, { denormals: "${denormals}" }).run({ x: array("float32", [1e-39]) });
  console.log(y.data[0] > 0, Number("1e-310") > 0);`;

it.each([
  ["zero", "false false"],
  ["keep", "true true"],
])("denormal numbers: %s", (denormals, printed) => {
  expect(execFileSync(process.execPath, ["--input-type=module", "-e", program(denormals)], { encoding: "utf8" }).trim()).toBe(printed);
});
