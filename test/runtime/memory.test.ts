import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { array } from "../../src/base/arrays.ts";
import { chance } from "../../src/base/chance.ts";
import { ParameterBuffer } from "../../src/graph/parameters.ts";
import { decoderLoss } from "../../src/models/decoder.ts";
import { compile, nodeDevice } from "../../src/node/device.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import { initialise } from "../../src/weights/initialise.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Bytes of the process, without what is only waiting to be collected. */
function taken(): number {
  collect();
  return process.memoryUsage.rss();
}

it("200 cycles of compiling, running and releasing do not grow the process by more than 50 MB after the first 20", async () => {
  const loss = decoderLoss({ layers: 2, heads: 2, width: 64, context: 32, vocab: 65 });
  const weights = initialise(parametersOf(loss), chance(1));
  const gradients = new ParameterBuffer(weights.layout);
  const ids = array("int32", new Int32Array(8 * 32).fill(3), [8, 32]);
  let base = 0;
  for (let cycle = 0; cycle < 200; cycle++) {
    const step = compile(loss, { gradientOf: "loss", outputs: ["loss"], threads: 2 });
    await step.run({ ids, targets: ids }, { weights, gradients });
    await step.release();
    if (cycle === 19) base = taken();
  }
  expect((taken() - base) / 2 ** 20).toBeLessThan(50);
}, 120_000);

it("what would not fit into memory is refused with the arithmetic, before anything is allocated", async () => {
  const loss = decoderLoss({ layers: 1, heads: 4, width: 16, context: 200_000, positions: "rotary", vocab: 65 }, { training: false });
  const weights = initialise(parametersOf(loss), chance(1));
  const ids = array("int32", new Int32Array(100_000), [1, 100_000]);
  const before = process.memoryUsage.rss();
  const scores = compile(loss, { outputs: ["loss"], symbols: "open", device: nodeDevice({ memory: () => 4 * 2 ** 30 }) });
  await expect(scores.run({ ids, targets: ids }, { weights })).rejects.toThrow(
    /at decoder\/block\.0\/attention: attend computes batch=1 × 4 × time=100000 × time=100000 numbers.*= 447 GiB, and 4 GiB may be taken; give it shorter texts, or fewer at once/,
  );
  expect(process.memoryUsage.rss() - before).toBeLessThan(200 * 2 ** 20);
  const few = array("int32", new Int32Array(100), [1, 100]);
  expect((await scores.run({ ids: few, targets: few }, { weights })).loss.data[0]).toBeGreaterThan(3); // of ln 65 = 4.17
  await scores.release();
});
