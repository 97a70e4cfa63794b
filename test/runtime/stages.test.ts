import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { ParameterBuffer } from "../../src/graph/parameters.ts";
import { modelLoss } from "../../src/models/any.ts";
import { nodeDevice } from "../../src/node/device.ts";
import { compile, parametersOf } from "../../src/runtime/compile.ts";
import { initialise } from "../../src/weights/initialise.ts";
import { cases, symbolsOf } from "../support/trainees.ts";

// A backward pass in several sessions computes what one session does.

const device = nodeDevice({ threads: 1 });

describe.each(Object.entries(cases))("%s in stages", (_, { model, batches }) => {
  const loss = modelLoss(model, {});
  const layout = parametersOf(loss);
  const names = layout.entries.map(({ name }) => name);
  const weights = new ParameterBuffer(layout);
  initialise(layout, chance(2), weights);

  it.each(["everything", "block inputs"] as const)(
    "has the same loss and gradients, bit for bit, wherever it is cut; kept: %s",
    async (keeps) => {
      const { feeds } = batches(5).batch(1);
      const options = { gradientOf: "loss", outputs: ["loss"], unused: "zero", keeps, device, symbols: symbolsOf(model) } as const;
      const run = async (stages?: readonly (readonly string[])[]) => {
        const gradients = new ParameterBuffer(layout);
        const reached: number[] = [];
        const complete: boolean[] = [];
        await using compiled = compile(loss, { ...options, ...(stages && { stages }) });
        const filled = (stage: readonly string[]) => stage.every((name) => gradients.view(name).data.some((value) => value !== 7));
        gradients.data.fill(7);
        const tell = (stage: number) => {
          reached.push(stage);
          complete.push(filled((stages ?? [])[stage]));
        };
        for (let i = 0; i < 2; i++) await compiled.run(feeds, { weights, gradients, chance: chance(3), reached: tell });
        const { loss: found } = await compiled.run(feeds, { weights, gradients, chance: chance(3) });
        return { bits: Buffer.from(gradients.data.buffer).toString("hex"), loss: found.data[0], reached, complete };
      };
      const whole = await run();
      expect(whole.reached).toEqual([]);
      await fc.assert(
        fc.asyncProperty(fc.uniqueArray(fc.integer({ min: 1, max: names.length - 1 }), { minLength: 1, maxLength: 3 }), async (places) => {
          const ends = [...places].sort((a, b) => b - a);
          const stages = ends.map((place, i) => names.slice(place, i === 0 ? names.length : ends[i - 1]));
          const found = await run(stages);
          expect(found.reached).toEqual([...ends.keys(), ...ends.keys()]);
          expect(found.complete).toEqual(found.reached.map(() => true));
          expect(found.loss).toBe(whole.loss);
          expect(found.bits === whole.bits).toBe(true);
        }),
        { numRuns: 6 },
      );
    },
  );
});
