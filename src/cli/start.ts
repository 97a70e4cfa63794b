import { readFileSync } from "node:fs";
import { array } from "../base/arrays.ts";
import { chance } from "../base/chance.ts";
import { decoderLoss } from "../models/decoder.ts";
import { compile, parametersOf } from "../runtime/compile.ts";
import { AdamW } from "../training/optimizers.ts";
import { initialise } from "../weights/initialise.ts";

// What `npm start` shows: a small GPT learns the characters of this project's README, and the loss falls.

const [batch, context, steps] = [16, 64, 300];
const text = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
const alphabet = [...new Set(text)].sort();
const tokens = Int32Array.from(text, (character) => alphabet.indexOf(character));

const loss = decoderLoss({ layers: 2, heads: 4, width: 64, context, vocab: alphabet.length }, { ignore: null });
const layout = parametersOf(loss);
const optimizer = new AdamW(layout, { weightDecay: 0.1, clip: 1 });
initialise(layout, chance(1), optimizer.weights);
const step = compile(loss, { gradientOf: "loss", outputs: ["loss"] });

console.log(
  `A decoder of 2 layers and ${layout.total.toLocaleString("en")} parameters reads README.md: ${tokens.length} characters, ${alphabet.length} different ones.`,
);
console.log(`Knowing nothing, it would be wrong by ln ${alphabet.length} = ${Math.log(alphabet.length).toFixed(2)} a character.\n`);
const start = performance.now();
for (let i = 0; i <= steps; i++) {
  const source = chance(1).fork("batches").fork(i);
  const starts = Array.from({ length: batch }, (_, row) => source.integer(row, tokens.length - context - 1));
  const windows = (shift: number) =>
    array("int32", Int32Array.from(starts.flatMap((at) => [...tokens.subarray(at + shift, at + shift + context)])), [batch, context]);
  const result = await step.run({ ids: windows(0), targets: windows(1) }, { weights: optimizer.weights, gradients: optimizer.gradients });
  optimizer.step(3e-3 * Math.min(1, (i + 1) / 30));
  const value = Number(result.loss.data[0]);
  if (i % 30 === 0) console.log(`step ${String(i).padStart(3)}  loss ${value.toFixed(3)}  ${"█".repeat(Math.round(value * 12))}`);
}
console.log(`\n${Math.round((steps * batch * context) / ((performance.now() - start) / 1000)).toLocaleString("en")} characters a second.`);
await step.release();
