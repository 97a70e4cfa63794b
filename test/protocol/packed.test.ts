import { describe, expect, it } from "vitest";
import { alignmentOf, rollout } from "../../src/inspection/alignment.ts";
import { attentionOf, kindsOf } from "../../src/inspection/attention.ts";
import { queryKeysOf } from "../../src/inspection/query-keys.ts";
import { headStatisticsOf } from "../../src/inspection/statistics.ts";
import { floatsOf, weightsOf } from "../../src/pictures/page-data.ts";
import { pooled } from "../../src/pictures/pool.ts";
import { lookInside } from "../../src/protocol/looks.ts";
import type { LookAsk } from "../../src/protocol/messages.ts";
import type { TrainedModel } from "../../src/trained/trained.ts";
import type { PackedAttention, PackedHead } from "../../src/views/packed.ts";
import { inputs, runOf } from "../inspection/models.ts";

// Attention in few bytes is the attention of the views, to the last step of its coding.

const text = "the cat sat";
const told = { warn: () => {}, signal: new AbortController().signal };

async function packed(run: TrainedModel, ask: Partial<LookAsk> = {}): Promise<PackedAttention> {
  const found = await lookInside(run, { kind: "look", view: "attention", text, options: {}, as: "packed", ...ask }, told);
  if (!("json" in found)) throw new Error("no JSON");
  return JSON.parse(found.json);
}

const rowsOf = (look: PackedAttention, head: PackedHead): number[][] => {
  const [queries, keys] = [look.targetTokens, look.tokens].map(({ length }) => Math.ceil(length / look.side));
  const all = weightsOf(head, queries, keys);
  return Array.from({ length: queries }, (_, i) => Array.from(all.subarray(i * keys, (i + 1) * keys)));
};

/** By the square root, a step is at most twice the root of the largest, times itself. */
function expectNear(found: number[][], wanted: readonly (readonly number[])[], steps: number): void {
  const reach = Math.max(...wanted.flat());
  found.forEach((row, i) => {
    row.forEach((weight, j) => {
      expect(Math.abs(weight - wanted[i][j])).toBeLessThanOrEqual(reach / steps + 1e-7);
    });
  });
  expect(found.length).toBe(wanted.length);
}

describe.each(["decoder", "classifier", "class token", "encoder–decoder", "rnn with attention"] as const)(
  "the attention of a %s",
  (name) => {
    it("is told as it is, kind by kind and head by head, with what each head does", async () => {
      const run = await runOf(inputs[name]);
      for (const kind of kindsOf(run.model)) {
        const wanted = await attentionOf(run, text, { kind, warn: false });
        const [all, small] = [await packed(run, { options: { kind } }), await packed(run, { options: { kind }, side: 4 })];
        expect(all).toMatchObject({ kind, kinds: kindsOf(run.model), tokens: wanted.tokens, targetTokens: wanted.targetTokens, side: 1 });
        const known = headStatisticsOf(wanted).layers;
        wanted.layers.forEach(({ heads }, i) => {
          heads.forEach(({ pattern }, j) => {
            expectNear(rowsOf(all, all.layers[i].heads[j]), pattern, 65535);
            expectNear(rowsOf(small, small.layers[i].heads[j]), pooled(pattern, 4).rows, 255);
            const { head: _, entropy, ...summary } = known[i].heads[j];
            expect(all.layers[i].heads[j].summary.entropy).toBeCloseTo(entropy ?? 0, 5);
            const own = kind === "cross" ? [] : ["distance"];
            expect(Object.keys(small.layers[i].heads[j].summary).sort()).toEqual([...Object.keys(summary), "entropy", ...own].sort());
          });
        });
      }
    });
  },
);

it("rollout and the mean of all heads are those of the views", async () => {
  const run = await runOf(inputs.decoder);
  const look = await attentionOf(run, text, { warn: false });
  const rolled = rollout(look).layers;
  for (const layer of [0, 1]) {
    const found = await packed(run, { view: "rollout", options: { layer } });
    expectNear(rowsOf(found, found.layers[0].heads[0]), rolled[layer].heads[0].pattern, 65535);
  }
  const found = await packed(run, { view: "alignment" });
  expectNear(rowsOf(found, found.layers[0].heads[0]), alignmentOf(look).matrix, 65535);
});

it("a head that is asked for alone comes with its queries and keys, or with why there are none", async () => {
  const run = await runOf(inputs.decoder);
  const options = { layer: 1, head: 1 };
  const [found, wanted] = [await packed(run, { options }), await queryKeysOf(run, text, { ...options, warn: false })];
  if (!found.vectors || !("q" in found.vectors) || !("layers" in wanted)) throw new Error("no queries and keys");
  const [[{ q, k }]] = wanted.layers;
  expect(found.vectors).toMatchObject({ size: q[0].length, scale: wanted.scale });
  expect([...floatsOf(found.vectors.q)]).toEqual(q.flat());
  expect([...floatsOf(found.vectors.k)]).toEqual(k.flat());
  const rnn = await packed(await runOf(inputs["rnn with attention"]), { options: { head: 0 } });
  expect(rnn.vectors).toEqual({ note: expect.stringContaining("no projected queries and keys") });
});

it("refuses what has no attention, no such view and no such size, each with its cure", async () => {
  const run = await runOf(inputs.decoder);
  await expect(packed(await runOf(inputs["rnn language model"]))).rejects.toThrow("no attention to look at");
  await expect(packed(run, { view: "lens" })).rejects.toThrow("attention, rollout, alignment have");
  await expect(packed(run, { side: 0 })).rejects.toThrow("a whole number from 1 on");
});

it("a look comes as a page of its own, where its view has one", async () => {
  const run = await runOf(inputs.decoder);
  const ask = { kind: "look", view: "attention", text, options: { layer: 0 }, as: "html" } as const;
  expect(await lookInside(run, ask, told)).toEqual({ html: expect.stringMatching(/^<!doctype html>.*<\/html>\s*$/s) });
  await expect(lookInside(run, { ...ask, view: "next", options: {} }, told)).rejects.toThrow("no page of its own");
});

it("the taps of a text are told with how it is read, also where no tap is asked for", async () => {
  const run = await runOf(inputs["encoder–decoder"]);
  const found = await lookInside(run, { kind: "taps", text, names: [], target: "cat" }, told);
  expect(found).toMatchObject({ activations: [], tokens: [...text, "</s>"], targetTokens: ["<s>", ..."cat"] });
});
