import { expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { formsOf } from "../../src/generation/forms.ts";
import { candidates, drawToken, sampling } from "../../src/generation/sampling.ts";
import { speakerFor } from "../../src/generation/speaker.ts";
import { modelConfig, modelLoss } from "../../src/models/any.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import { trainTokenizer } from "../../src/tokens/index.ts";
import { initialise } from "../../src/weights/initialise.ts";
import { inMemory } from "../support/trained-model.ts";
import { schemas } from "./form-schemas.ts";
import { valid } from "./valid-by-schema.ts";

it("a decoder that was never trained answers in form, by temperature, with more scores than its tokenizer has tokens", async () => {
  const tokenizer = await trainTokenizer("bpe", ['{"who": {"name": "a", "age": 12}, "ok": true}'], { vocab: 300 });
  const end = tokenizer.end as number;
  const model = modelConfig({ model: "decoder", vocab: 320, width: 16, layers: 1, heads: 2, context: 512 });
  const trained = inMemory(model, initialise(parametersOf(modelLoss(model)), chance(1)), tokenizer);
  const speaker = await speakerFor(trained);
  const forms = formsOf({ tokenizer, rows: model.vocab, ends: [end] });
  let finished = 0;
  for (let seed = 0; seed < 4; seed++) {
    const constraint = forms.schema(schemas["array with bounds"]);
    const speech = speaker.value.begin();
    const ids: number[] = [];
    let [{ scores }] = await speech.join([{ ids: [tokenizer.start as number] }]);
    for (let i = 0; i < 200; i++) {
      const mask = await constraint.allowed();
      const held = scores.map((score, id) => ((mask[id >> 5] >>> (id & 31)) & 1 ? score : Number.NEGATIVE_INFINITY));
      const token = drawToken(candidates(held, sampling({ temperature: 1 })), chance(seed).uniform(i));
      constraint.accept(token);
      if (token === end) break;
      ids.push(token);
      [{ scores }] = await speech.next([token]);
    }
    constraint.release();
    expect(valid(JSON.parse(tokenizer.decode(ids)), schemas["array with bounds"]), tokenizer.decode(ids)).toBe(true);
    finished++;
  }
  expect(finished).toBe(4);
  await trained.release();
});
