import { describe, expect, it } from "vitest";
import { type Chance, chance } from "../../src/base/chance.ts";
import { EngineError } from "../../src/base/errors.ts";
import { Prefixes } from "../../src/generation/prefixes.ts";
import type { BatchOptions } from "../../src/generation/running-batch.ts";
import { speakerOf } from "../../src/library/here.ts";
import { type ModelInput, modelConfig, readsSource } from "../../src/models/any.ts";
import { readingSpeaker } from "./stand-ins.ts";
import { alike, expectAlike, played } from "./traffic.ts";
import { clearWeights } from "./whole-model.ts";

// The same traffic with prompts that are read in pieces, with few rows, and with beginnings that are shared: nobody is told anything else.

/** Any options, and prefixes that have room for everything, for little, or that there are none of. */
function optionsOf(source: Chance, bytes: readonly number[]): BatchOptions {
  const prefixes = source.integer(0, bytes.length + 1);
  return {
    ...(source.uniform(1) < 0.8 && { piece: [1, 3, 8, 20, 64][source.integer(2, 5)] }),
    ...(source.uniform(3) < 0.5 && { rows: 1 + source.integer(4, 4) }),
    ...(prefixes < bytes.length && { prefixes: new Prefixes(bytes[prefixes]) }),
  };
}

describe("a speaker that says what it was given to read", () => {
  it.each([
    ["", 0],
    [", also when the engine fails now and then", 0.05],
  ])("tells everybody what he is told alone%s", async (_, failing) => {
    let failed = 0;
    for (let seed = 0; seed < 150; seed++) {
      const speaker = readingSpeaker({ longest: 50, grain: [1, 8][seed % 2] });
      const source = chance(seed).fork("arrivals");
      const options = optionsOf(source.fork("options"), [0, 60, 400, 1e9]);
      const stays = await played(speaker, source, { reads: seed % 3 === 1, failing, ids: alike(44), options });
      await expectAlike(speaker, stays, 12, `seed ${seed}`);
      failed += stays.filter(({ told }) => told.at(-1)?.error instanceof EngineError).length;
    }
    expect(failed > 50).toBe(failing > 0);
  });
});

const sizes = { vocab: 12, width: 8, layers: 1, context: 50 };
const models: Record<string, ModelInput> = {
  "a decoder": { model: "decoder", heads: 2, ...sizes },
  "a decoder with rotary positions and a window": { model: "decoder", heads: 2, ...sizes, positions: "rotary", window: 9 },
  "a decoder without a mask": { model: "decoder", heads: 2, ...sizes, mask: "none" },
  "an encoder–decoder": { model: "encoder-decoder", heads: 2, ...sizes },
  "an RNN language model": { model: "rnn", task: "lm", ...sizes },
  "an RNN encoder–decoder": { model: "rnn", ...sizes },
};

describe.each(Object.entries(models))("the same with %s", (_, given) => {
  it("at every await of the model", async () => {
    const model = modelConfig(given);
    const speaker = speakerOf(model, { weights: clearWeights(model), threads: 1 });
    for (let seed = 0; seed < 8; seed++) {
      const source = chance(seed).fork("arrivals");
      const options = optionsOf(source.fork("options"), [30_000, 1e9]);
      const stays = await played(speaker, source, { reads: readsSource(model), ids: alike(44), options });
      await expectAlike(speaker, stays, 4, `seed ${seed}`);
    }
    await speaker.release();
  });
});
