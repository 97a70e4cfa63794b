import { describe, expect, it } from "vitest";
import { cut, encodeAnswered } from "../../src/batches/encode.ts";
import { answeredLayout } from "../../src/batches/examples.ts";
import { usualChat } from "../../src/tokens/chat-template.ts";
import type { Tokenizer } from "../../src/tokens/index.ts";
import { trainTokenizer } from "../../src/tokens/index.ts";

const text = "The capital of Peru is Lima. user assistant Hi? Sure! Yes.\n".repeat(20);
const char = await trainTokenizer("char", [text]);
const bpe = await trainTokenizer("bpe", [text], { vocab: 300 });

/** What a row learns, as text; special tokens by their names. */
const learned = ({ targets }: { targets: Int32Array }, tokenizer: Tokenizer) =>
  Array.from(targets, (id) => (id < 0 ? "·" : tokenizer.piece(id))).join("");
const readable = ({ ids }: { ids: Int32Array }, tokenizer: Tokenizer) => Array.from(ids, (id) => tokenizer.piece(id)).join("");

describe("a prompt and its completion", () => {
  const example = { prompt: "Peru is", completion: " Lima" };

  it("are one text, of which the completion and the end are learned", () => {
    const [row] = encodeAnswered([example], char);
    expect(readable(row, char)).toBe("Peru is Lima");
    expect(learned(row, char)).toBe("······ Lima</s>");
  });

  it("meet between two tokens, as they do when the model is asked", () => {
    for (const [prompt, completion] of [
      ["Peru is", " Lima"],
      ["Peru is ", "Lima"],
      ["Per", "u is Lima"],
    ]) {
      const [{ ids, targets }] = encodeAnswered([{ prompt, completion }], bpe);
      const begin = targets.findIndex((id) => id >= 0);
      expect([...ids.subarray(0, begin + 1)]).toEqual([...bpe.encode(prompt)]);
      expect(bpe.decode(targets.filter((id) => id >= 0))).toBe(completion);
    }
  });

  it("need both", () => {
    const asked = { messages: [{ role: "user", content: "Hi" }], line: 3 };
    expect(() => encodeAnswered([asked], char, usualChat(char))).toThrow(
      'there is no answer to learn from; give one (in messages, by the role "assistant")',
    );
  });
});

describe("a conversation", () => {
  const messages = [
    { role: "user", content: "Hi" },
    { role: "assistant", content: "Sure" },
    { role: "user", content: "Hi?" },
    { role: "assistant", content: "Yes" },
  ];

  it("has its answers learned, each with the token that ends it and without the template's new line", () => {
    const [row] = encodeAnswered([{ messages }], char, usualChat(char));
    expect(readable(row, char)).toBe("<s>user\nHi</s>\n<s>assistant\nSure</s>\n<s>user\nHi?</s>\n<s>assistant\nYes</s>");
    expect(learned(row, char).replace(/·+/g, "·")).toBe("·Sure</s>·Yes</s>·");
  });

  it("is learned from a message on, where it is said so", () => {
    const [row] = encodeAnswered([{ messages, from: 2 }], char, usualChat(char));
    expect(learned(row, char).replace(/·+/g, "·")).toBe("·Yes</s>·");
  });

  it("wants a template", () => {
    expect(() => encodeAnswered([{ messages, file: "chat.jsonl", line: 3 }], char)).toThrow(
      /^chat.jsonl, line 3: there is no chat template/,
    );
  });
});

describe("what is too long", () => {
  const cutTo = (prompt: string, completion: string, context: number) => {
    const { examples, count } = cut(encodeAnswered([{ prompt, completion }], char), context, char, answeredLayout.begin);
    return { text: readable(examples[0], char), learned: learned(examples[0], char), count };
  };

  it("loses the beginning of its prompt first", () => {
    expect(cutTo("The capital of Peru is", " Lima", 10)).toEqual({ text: "ru is Lima", learned: "···· Lima</s>".slice(0, 14), count: 1 });
    expect(cutTo("Peru is", " Lima", 50).count).toBe(0);
  });

  it("then the end of its answer, when half of the context is left to the prompt", () => {
    const { text, learned } = cutTo("Peru is", " The capital of Peru is Lima", 8);
    expect([text, learned]).toEqual(["u is The", "··· The "]);
  });
});

it("rows are filled up with targets that do not count", () => {
  const rows = encodeAnswered([{ prompt: "Hi", completion: "!" }, { prompt: "Peru is", completion: " Lima" }], char); // biome-ignore format: two rows
  const { feeds, targets, tokens, places } = answeredLayout.batch(rows, 2, [12]);
  expect(feeds.ids.shape).toEqual([2, 12]);
  expect([targets, tokens, places]).toEqual([2 + 6, 3 + 12, 24]);
  expect([...feeds.targets.data.subarray(3, 12)].every((target) => target === -1)).toBe(true);
});
