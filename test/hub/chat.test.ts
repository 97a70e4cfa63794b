import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { open, train } from "../../src/entries/qkv.ts";
import { chatPrompt } from "../../src/generation/chat.ts";

// A tiny Llama with a chat template, and what Python makes of conversations with it (chat-model.py).

const model = join(import.meta.dirname, "chat-model");
const message = z.looseObject({ role: z.string(), content: z.string() });
const reference = z
  .array(z.object({ messages: z.array(message), asked: z.array(z.number()), learned: z.number(), loss: z.number() }))
  .parse(JSON.parse(readFileSync(join(model, "reference.json"), "utf8")));

const place = mkdtempSync(join(tmpdir(), "qkv-chat-"));
afterAll(() => rmSync(place, { recursive: true, force: true }));

describe("a model with a chat template", () => {
  it("is asked in Python's tokens, and ends where the template ends a turn", async () => {
    await using opened = open(model);
    for (const { messages, asked } of reference) {
      const { ids, ends } = chatPrompt(messages, opened);
      expect([...ids]).toEqual(asked);
      expect(ends).toEqual([2]);
    }
  });

  it("has Python's loss on the answers alone", async () => {
    await using opened = open(model);
    const [, { messages, learned, loss }] = reference;
    const measures = await opened.evaluate([{ messages }]);
    expect(measures).toMatchObject({ tokens: learned, examples: 1 });
    expect("loss" in measures && Math.abs(measures.loss - loss)).toBeLessThan(1e-5);
  });

  it("learns new answers, from the folder on, and keeps its template", async () => {
    const rows = ["Peru", "Cuba", "Chad", "Oman"].map((land, i) => ({
      messages: [
        { role: "user", content: `Capital of ${land}?` },
        { role: "assistant", content: ["Lima", "Havana", "Djamena", "Muscat"][i] },
      ],
    }));
    const base = join(place, "base");
    cpSync(model, base, { recursive: true });
    await using run = await train(rows, {
      from: base,
      steps: 150,
      batch: 4,
      lr: 0.02,
      validFraction: 0,
      out: join(place, "run"),
      warn: false,
    });
    expect(run.chat?.template).toBe(readFileSync(join(model, "chat_template.jinja"), "utf8"));
    rmSync(base, { recursive: true });
    let text = "";
    for await (const piece of run.generate([{ role: "user", content: "Capital of Cuba?" }], { temperature: 0, tokens: 12 })) text += piece;
    expect(text).toBe("Havana");
    const [[sample]] = await run.best([[{ role: "user", content: "Capital of Oman?" }]], { beams: 2 });
    expect(sample).toMatchObject({ text: "Muscat", finish: "end" });
  });

  it("learns completions too, with the token that ends a text", async () => {
    const rows = [{ prompt: "ab", completion: "cd" }, { prompt: "cd", completion: "ef" }]; // biome-ignore format: two rows
    await using run = await train(rows, {
      from: model,
      steps: 60,
      batch: 2,
      lr: 0.02,
      validFraction: 0,
      out: join(place, "pairs"),
      warn: false,
    });
    const [[sample]] = await run.samples(["ab"], { temperature: 0, tokens: 10 });
    expect(sample).toMatchObject({ text: "cd", finish: "end" });
  });
});
