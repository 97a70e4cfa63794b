import { describe, expect, it } from "vitest";
import { rowsOf } from "../../src/inspection/answers.ts";
import { attentionOf, kindsOf } from "../../src/inspection/attention.ts";
import { look } from "../../src/inspection/look.ts";
import { inputs, runOf } from "./models.ts";

const characters = (text: string) => [...text];

describe("attention by layer and head", () => {
  it.each(["decoder", "classifier", "class token", "tagger", "encoder–decoder", "rnn with attention"] as const)(
    "of a model (%s) has rows that sum to one and a label for every row and column",
    async (name) => {
      const run = await runOf(inputs[name]);
      for (const kind of kindsOf(run.model)) {
        const target = name === "encoder–decoder" || name === "rnn with attention" ? "it sat" : undefined;
        const { layers, tokens, targetTokens, kind: found } = await attentionOf(run, "the cat", { kind, target });
        expect(found).toBe(kind);
        expect(layers.map(({ layer }) => layer)).toEqual(name === "rnn with attention" ? [0] : [0, 1]);
        for (const { heads } of layers) {
          expect(heads.map(({ head }) => head)).toEqual(name === "rnn with attention" ? [0] : [0, 1]);
          for (const { pattern } of heads) {
            expect(pattern).toHaveLength(targetTokens.length);
            for (const row of pattern) {
              expect(row).toHaveLength(tokens.length);
              expect(row.reduce((a, b) => a + b)).toBeCloseTo(1, 5);
            }
          }
        }
      }
    },
  );

  it("never looks ahead in a decoder, and does in an encoder", async () => {
    const ahead = async (name: "decoder" | "tagger") => {
      const { layers } = await attentionOf(await runOf(inputs[name]), "the cat");
      return layers.flatMap(({ heads }) => heads.flatMap(({ pattern }) => pattern.flatMap((row, i) => row.slice(i + 1))));
    };
    expect((await ahead("decoder")).every((p) => p === 0)).toBe(true);
    expect((await ahead("tagger")).every((p) => p > 0)).toBe(true);
  });

  it("labels positions as each architecture has them", async () => {
    const labels = async (name: keyof typeof inputs, options: Parameters<typeof attentionOf>[2]) => {
      const { tokens, targetTokens } = await attentionOf(await runOf(inputs[name]), "the", { ...options });
      return [tokens.join(" "), targetTokens.join(" ")];
    };
    expect(await labels("decoder", {})).toEqual(["t h e", "t h e"]);
    expect(await labels("class token", {})).toEqual(["<class> t h e", "<class> t h e"]);
    expect(await labels("encoder–decoder", { target: "it" })).toEqual(["t h e </s>", "i t </s>"]); // what is said at each row
    expect(await labels("encoder–decoder", { target: "it", kind: "self" })).toEqual(["<s> i t", "<s> i t"]);
    expect(await labels("encoder–decoder", { target: "it", kind: "encoder" })).toEqual(["t h e </s>", "t h e </s>"]);
    expect(await labels("rnn with attention", { target: "it" })).toEqual(["t h e </s>", "i t </s>"]);
  });

  it("is softmax(q·k/√size) of the tapped queries and keys, computed by hand", async () => {
    const run = await runOf(inputs.decoder);
    const { activations } = await look(run, "a cat", ["decoder/block.1/attention/*"]);
    const [q, k] = ["q", "k"].map((name) => rowsOf(activations.get(`decoder/block.1/attention/${name}`) as never)); // [head · time][size]
    const { layers } = await attentionOf(run, "a cat", { layer: 1 });
    for (const { head, pattern } of layers[0].heads)
      for (const [i, row] of pattern.entries()) {
        const scores = row.slice(0, i + 1).map((_, j) => q[head * 5 + i].reduce((sum, x, d) => sum + x * k[head * 5 + j][d], 0) / 2);
        const total = scores.reduce((sum, score) => sum + Math.exp(score), 0);
        for (const [j, score] of scores.entries()) expect(row[j]).toBeCloseTo(Math.exp(score) / total, 5);
      }
  });

  it("gives one layer and one head if asked", async () => {
    const run = await runOf(inputs.decoder);
    const all = await attentionOf(run, "a cat");
    const one = await attentionOf(run, "a cat", { layer: 1, head: 0 });
    expect(one.layers).toEqual([{ layer: 1, heads: [all.layers[1].heads[0]] }]);
  });

  it("lets the model write the target that is not given", async () => {
    for (const name of ["encoder–decoder", "rnn with attention"] as const) {
      const { targetTokens, layers } = await attentionOf(await runOf(inputs[name]), "the");
      expect(targetTokens.length).toBeGreaterThan(0);
      expect(layers[0].heads[0].pattern).toHaveLength(targetTokens.length);
    }
  });

  it("cuts a text that is longer than the context, counts unknown characters, and says both", async () => {
    const said: string[] = [];
    const warn = (sentence: string) => said.push(sentence);
    const { tokens } = await attentionOf(await runOf(inputs.decoder), "the cat sat, and it", { warn });
    expect(tokens).toEqual(characters("the cat sat,"));
    await attentionOf(await runOf(inputs.decoder), "¿the?", { warn });
    expect(said).toEqual([
      "the text has 19 tokens, and the context 12: its last 7 tokens are dropped",
      "2 tokens of the text are not in the vocabulary and count as unknown",
    ]);
  });

  it.each([
    ["decoder", "", {}, /there is no token in the text to look at; give one that is not empty/],
    ["encoder–decoder", "", {}, /there is no token in the text/],
    ["decoder", "a", { layer: 2 }, /there is no layer 2; the model has layers 0 to 1/],
    ["decoder", "a", { head: 7 }, /there is no head 7; the model has heads 0 to 1/],
    ["rnn with attention", "a", { head: 1 }, /there is no head 1; the model has only head 0/],
    ["decoder", "a", { kind: "cross" }, /a decoder has no attention of the kind "cross"; it has self/],
    ["decoder", "a", { target: "b" }, /a target is for models that translate/],
    [
      "rnn without attention",
      "a",
      {},
      /an RNN encoder–decoder without attention has no attention to look at; train it without attention: false/,
    ],
    ["rnn language model", "a", {}, /an RNN language model has no attention to look at; look into a decoder/],
  ] as const)("refuses (%s, %j, %j) with a sentence", async (name, text, options, sentence) => {
    await expect(attentionOf(await runOf(inputs[name]), text, { ...options })).rejects.toThrow(sentence);
  });
});
