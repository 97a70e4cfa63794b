import { expect, it } from "vitest";
import { evaluate } from "../../src/evaluation/evaluate.ts";
import { roundingOf } from "../../src/evaluation/rounding.ts";
import { inputs, runOf } from "../inspection/models.ts";

// A model in memory, and data that is not of its task.

const refused = (message: string) => expect.objectContaining({ code: "config.task", message: expect.stringContaining(message) });
const texts = { kind: "text", texts: [], bytes: 1, unknown: 0 } as const;
const examples = { kind: "examples", examples: [{ text: "the cat", label: "cat" }] } as const;

it("texts are for language models, and examples for the others", async () => {
  const writer = await runOf(inputs.decoder);
  const classifier = await runOf(inputs.classifier);
  await expect(evaluate(writer, examples)).rejects.toThrow(
    refused("is for lm, which is measured on texts or on answers to prompts, not on examples with labels or targets"),
  );
  await expect(evaluate(classifier, texts)).rejects.toThrow(
    refused("is for classify, which is measured on examples with labels or targets, not on texts"),
  );
  await expect(roundingOf(writer, examples)).rejects.toThrow(
    refused("is for lm, which is measured on texts or on answers to prompts, not on examples with labels or targets"),
  );
  await expect(roundingOf(classifier, examples)).rejects.toThrow(refused("perplexity is of models that write"));
});

it("a model without a name is not called a run", async () => {
  const writer = await runOf(inputs.decoder);
  expect(() => writer.require("classify")).toThrow(refused("this decoder continues text, and cannot do classify"));
});
