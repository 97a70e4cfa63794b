import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readSafetensors } from "../../src/weights/safetensors.ts";
import { engineHash } from "../fixtures/0.1.0/engine.mjs";
import { Workplace } from "../support/command.ts";

// Runs that 0.1.0 made: they open, score the same, and go on bit for bit. See fixtures/0.1.0/make.mjs.

const fixtures = join(import.meta.dirname, "../fixtures/0.1.0");
const expected: { engine: string; runs: Record<string, { task: string; scores: object; answers: object }> } = JSON.parse(
  readFileSync(join(fixtures, "expected.json"), "utf8"),
);
const texts: Record<string, string> = { lm: "the cat", classify: "i am happy today", tag: "abcab", translate: "number 7" };

/** Every number in a value, by the way to it, and everything else as it is. */
function leaves(value: unknown, path = ""): [string, unknown][] {
  if (typeof value !== "object" || value === null) return [[path, value]];
  return Object.entries(value).flatMap(([key, inner]) => leaves(inner, `${path}/${key}`));
}

describe("runs made by 0.1.0", async () => {
  const place = new Workplace();
  cpSync(join(fixtures, "data"), place.path("test/fixtures/0.1.0/data"), { recursive: true }); // where the runs' configs look for it
  const sameEngine = (await engineHash(join(fixtures, "engine.onnx"))) === expected.engine;

  const alike = (found: unknown, wanted: unknown) => {
    if (sameEngine) return expect(found).toEqual(wanted);
    const [a, b] = [leaves(found), leaves(wanted)];
    expect(a.map(([path]) => path)).toEqual(b.map(([path]) => path));
    for (const [i, [path, value]] of a.entries())
      if (typeof value === "number") expect(value, path).toBeCloseTo(b[i][1] as number, 3);
      else expect(value, path).toEqual(b[i][1]);
  };

  for (const [name, { task, scores, answers }] of Object.entries(expected.runs)) {
    const run = (): string => {
      const folder = place.path(name);
      cpSync(join(fixtures, name), folder, { recursive: true });
      return folder;
    };

    it(`${name}: scores and answers as before`, async () => {
      const { seconds: _, ...found } = JSON.parse((await place.done("eval", run(), "--json")).stdout);
      alike(Object.fromEntries(Object.keys(scores).map((key) => [key, found[key]])), scores); // there may be more measures now
      const command = task === "lm" ? ["generate", run(), texts[task], "--tokens", "20"] : [task, run(), texts[task]];
      alike(JSON.parse((await place.done(...command, "--json")).stdout), answers);
    });

    it(`${name}: goes on ${sameEngine ? "bit for bit" : "to the same weights, as nearly as this processor's last bits allow"}`, async () => {
      const folder = run();
      await place.done("train", "--resume", folder, "--quiet");
      expect(readFileSync(join(folder, "log.jsonl"), "utf8")).not.toContain("objective"); // what its log calls the loss, it calls so to the end
      const bytes = (file: string) => readFileSync(file);
      const [found, wanted] = [bytes(join(folder, "checkpoints/24/weights.safetensors")), bytes(join(fixtures, `${name}.safetensors`))];
      if (sameEngine) return expect(found.equals(wanted)).toBe(true);
      const [a, b] = [readSafetensors(found, "found").tensors, readSafetensors(wanted, "wanted").tensors];
      for (const [tensor, { data }] of b)
        for (const [i, value] of data.entries()) expect(Number(a.get(tensor)?.data[i]), `${tensor}[${i}]`).toBeCloseTo(Number(value), 3);
    });
  }
});
