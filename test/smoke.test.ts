import { expect, it } from "vitest";
import { array, chance, compile, decoderLoss, initialise, parametersOf } from "../src/entries/graph.ts";
import { AdamW } from "../src/entries/training.ts";

// Before each commit: the whole spine in a second or two.

it("a small decoder learns a short text by heart", async () => {
  const loss = decoderLoss({ layers: 1, heads: 2, width: 16, context: 8, vocab: 4 });
  const layout = parametersOf(loss);
  const optimizer = new AdamW(layout, { clip: 1 });
  initialise(layout, chance(1), optimizer.weights);
  const step = compile(loss, { gradientOf: "loss", outputs: ["loss"], threads: 1 });
  const text = (shift: number) =>
    array(
      "int32",
      Int32Array.from({ length: 16 }, (_, i) => [0, 1, 1, 2, 3][(i + shift) % 5]),
      [2, 8],
    );
  const feeds = { ids: text(0), targets: text(1) };
  const losses: number[] = [];
  for (let i = 0; i < 200; i++) {
    losses.push(Number((await step.run(feeds, { weights: optimizer.weights, gradients: optimizer.gradients })).loss.data[0]));
    await optimizer.step(1e-2);
  }
  expect(losses[0]).toBeGreaterThan(1.2); // ln 4 = 1.39: it knows nothing yet
  expect(losses[199]).toBeLessThan(0.05);
});
