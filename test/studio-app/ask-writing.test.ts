import { describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { candidates, sampling } from "../../src/generation/sampling.ts";
import { type BeamNode, type Hypothesis, prefixTree, scoreOf } from "../../studio/ask/writing/beams.ts";
import {
  begun,
  branched,
  grown,
  keptOf,
  noBranches,
  readKept,
  rowsOf,
  type ShownToken,
  textOf,
  windowsOf,
} from "../../studio/ask/writing/branches.ts";
import { filtered } from "../../studio/ask/writing/filters.ts";
import { writtenPage } from "../../studio/ask/writing/written-page.ts";

const token = (id: number): ShownToken => ({ id, text: `t${id}`, bytes: null, logProbability: -1, top: [] });
const tokens = (...ids: number[]) => ids.map(token);
const ids = (text: readonly ShownToken[]) => text.map(({ id }) => id);

describe("the tree of branches", () => {
  const root = grown(begun(noBranches), 0, tokens(1, 2, 3, 4));
  const { tree: left } = branched(root, 2, token(9));
  const both = grown(left, 1, tokens(5, 6));

  it("shares what comes before the place where a branch leaves, and loses nothing", () => {
    expect(ids(textOf(both))).toEqual([1, 2, 9, 5, 6]);
    expect(ids(textOf(both, 0))).toEqual([1, 2, 3, 4]);
  });

  it("leaves the branch in which a token was written, whichever one is read", () => {
    const early = branched(both, 1, token(7)).tree; // a place of the part that is shared
    expect(early.branches[2]).toMatchObject({ parent: 0, from: 1 });
    const late = branched(both, 4, token(7)).tree;
    expect(late.branches[2]).toMatchObject({ parent: 1, from: 4 });
    expect(ids(textOf(late))).toEqual([1, 2, 9, 5, 7]);
  });

  it("walks to what was followed before, back and forth, and writes none twice", () => {
    const back = branched(both, 2, token(3));
    expect(back).toMatchObject({ isNew: false, tree: { chosen: 0 } });
    expect(branched(back.tree, 2, token(9))).toMatchObject({ isNew: false, tree: { chosen: 1 } });
    const third = branched(both, 2, token(8)); // a second way from the same place leaves the same branch
    expect(third.tree.branches[2]).toMatchObject({ parent: 0, from: 2 });
  });

  it("goes on with an open text, and leaves one that has ended", () => {
    expect(branched(root, 4, token(5)).tree.branches).toHaveLength(1);
    const ended = grown(root, 0, [], { logProbability: -0.1, top: [] });
    expect(branched(ended, 4, token(5)).tree.branches[1]).toMatchObject({ parent: 0, from: 4 });
  });

  it("is read again in windows that fit, each of which ends further on and has half a context before what is new", () => {
    for (const [length, context] of [
      [5, 8],
      [8, 8],
      [9, 8],
      [100, 7],
      [3, 1],
    ]) {
      const windows = windowsOf(length, context);
      expect(windows.at(-1)?.end).toBe(length);
      for (const [i, { start, end }] of windows.entries()) {
        expect(end - start).toBeLessThanOrEqual(context);
        if (i > 0) expect(windows[i - 1].end - start).toBeGreaterThanOrEqual(Math.floor(context / 2));
        if (i > 0) expect(end).toBeGreaterThan(windows[i - 1].end);
      }
    }
  });

  it("comes back from an address as it was, and lists each branch below the one it left", () => {
    const kept = readKept(keptOf(both));
    expect(kept).toEqual([
      { from: 0, start: "drawn", ids: [1, 2, 3, 4] },
      { parent: 0, from: 2, start: "chosen", ids: [9, 5, 6] },
    ]);
    expect(rowsOf(branched(both, 1, token(7)).tree).map(({ branch, depth }) => [branch.number, depth])).toEqual([
      [0, 0],
      [2, 1],
      [1, 1],
    ]);
    for (const wrong of ["5:0:1", "0:0:1", "<script>", "1.2~9:1:3"]) expect(readKept(wrong)).toEqual([]);
  });
});

describe("filters that are redrawn", () => {
  const vocab = 40;
  const scores = Float32Array.from({ length: vocab }, (_, i) => 6 * chance(3).uniform(i) - 3);
  const total = Math.log(scores.reduce((sum, score) => sum + Math.exp(score), 0));
  const told = (count: number) => ({
    top: [...scores.keys()]
      .sort((a, b) => scores[b] - scores[a])
      .slice(0, count)
      .map((id) => ({ id, text: `t${id}`, bytes: null, logProbability: scores[id] - total })),
    total,
  });
  const settings = [
    {},
    { temperature: 0 },
    { temperature: 0.5, topK: 7 },
    { temperature: 1.7, topP: 0.6 },
    { minP: 0.3 },
    { temperature: 1.2, topK: 20, topP: 0.8, minP: 0.05, repetitionPenalty: 1.5 },
  ];

  it("leave what the sampler draws from, with the same shares", () => {
    for (const one of settings) {
      const { choices, kept } = filtered(told(vocab), one, [3, 5, 8], vocab);
      const wanted = candidates(scores, sampling(one), [3, 5, 8]);
      expect(kept).toBe(wanted.tokens.length);
      for (const [i, id] of wanted.tokens.entries())
        expect(choices.find((choice) => choice.id === id)?.after).toBeCloseTo(wanted.probabilities[i], 5);
    }
  });

  it("are exact with the likeliest alone where k of them are enough, or at temperature 1", () => {
    for (const one of [{ topK: 6, temperature: 0.4 }, { topP: 0.7 }, { topP: 0.5, minP: 0.1 }]) {
      const [some, all] = [filtered(told(25), one, [], vocab), filtered(told(vocab), one, [], vocab)];
      expect(some.kept).toBe(all.kept);
      for (const [i, { after }] of some.choices.entries()) expect(after).toBeCloseTo(all.choices[i].after, 5);
    }
  });
});

describe("beams as a tree", () => {
  const hypothesis = (...text: number[]): Hypothesis => ({ tokens: text.map((id) => ({ id, text: `t${id}`, logProbability: -id })) });
  const all = [hypothesis(1, 2, 3), hypothesis(1, 2), hypothesis(1, 4, 5), hypothesis(6)];
  const textsOf = ({ tokens: own, children, ends }: BeamNode, before: readonly number[] = []): (readonly [number, readonly number[]])[] => {
    const text = [...before, ...own.map(({ id }) => id)];
    return [...(ends === undefined ? [] : [[ends, text] as const]), ...children.flatMap((child) => textsOf(child, text))];
  };

  it("has every hypothesis once, and what they share once", () => {
    const tree = prefixTree(all);
    expect(Object.fromEntries(textsOf(tree))).toEqual(Object.fromEntries(all.map((one, i) => [i, one.tokens.map(({ id }) => id)])));
    expect(tree.children).toHaveLength(2);
    expect(tree.children[0]).toMatchObject({ hypotheses: [0, 1, 2], tokens: [{ id: 1 }] });
    expect(prefixTree([]).children).toEqual([]);
  });

  it("ranks by what the search ranks by: the end counts, and the length to the power of the penalty", () => {
    expect(scoreOf({ tokens: hypothesis(1, 2, 3).tokens, end: -2 }, 1)).toBe(-8 / 4);
    expect(scoreOf(hypothesis(1, 2, 3), 0)).toBe(-6);
  });
});

it("a text is saved as a page in which it stays text, each token with its probability", () => {
  const page = writtenPage({
    title: "A text by <b>",
    prompt: [{ text: "<script>", logProbability: null }],
    tokens: [{ text: " it's\n", logProbability: Math.log(0.25) }],
  });
  expect(page).not.toMatch(/<script|<b>/);
  expect(page).toContain('<span class="prompt">&lt;script&gt;</span>');
  expect(page).toContain('<span class="text" title="25 %" style="--doubt: 0.20"> it&#39;s&#10;</span>');
});
