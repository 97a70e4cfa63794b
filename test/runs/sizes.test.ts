import { describe, expect, it } from "vitest";
import { modelsFor } from "../../src/models/any.ts";
import { flopsPerToken, type GivenSizes, type Means, parametersOf, sizesFor } from "../../src/runs/sizes.ts";
import { taskNames } from "../../src/text/columns.ts";

// The rule behind minutes: a pure function of time, data and what was given.

const book: Means = { task: "lm", model: "decoder", flops: 1e13, tokens: 1_100_000, vocab: 84, memory: 8 * 2 ** 30 };
const kinds = taskNames.flatMap((task) =>
  modelsFor(task).map((model): Means => {
    const ofText = task === "lm" || task === "mlm";
    return { ...book, task, model, vocab: ofText ? 84 : 4000, ...(!ofText && { examples: 20_000 }) };
  }),
);
const named = kinds.map((means) => [`${means.task} by ${means.model}`, means] as const);
const amounts = (from: number, to: number) => Array.from({ length: 80 }, (_, i) => from * (to / from) ** (i / 79));
const rising = (values: readonly number[]) => values.every((value, i) => i === 0 || value >= values[i - 1]);

it("an hour of two cores is for six layers of 192, and a minute for two of 96", () => {
  const speed = 150e9;
  const table = [1, 5, 15, 30, 60].map((minutes) => sizesFor({ ...book, flops: 60 * minutes * speed }));
  expect(table.map(({ layers, width, context, dropout }) => [layers, width, context, dropout])).toEqual([
    [2, 96, 128, 0],
    [4, 128, 128, 0],
    [4, 160, 128, 0.05],
    [4, 192, 256, 0.05],
    [6, 192, 256, 0.1],
  ]);
});

it("what 4 × 192 would read ten times is dropped in part, and what 4 × 160 reads six times is not", () => {
  const dropoutOf = (width: number, context: number, epochs: number) => {
    const sizes = { layers: 4, width };
    return sizesFor({ ...book, flops: epochs * book.tokens * flopsPerToken(sizes, book, context) }, sizes).dropout;
  };
  expect([dropoutOf(192, 256, 10), dropoutOf(192, 256, 9), dropoutOf(160, 128, 6)]).toEqual([0.05, 0.05, 0]);
});

describe.each(named)("sizes for %s", (_, means) => {
  const sizeAt = (other: Partial<Means>, given?: GivenSizes) => parametersOf(sizesFor({ ...means, ...other }, given), means);

  it("grow with the time, and never shrink", () => {
    const sizes = amounts(1e9, 1e18).map((flops) => sizeAt({ flops }));
    expect(rising(sizes)).toBe(true);
    expect(sizes[79]).toBeGreaterThan(2 * sizes[0]);
  });

  it("grow with the data, and never shrink", () => {
    const sized = amounts(100, 1e10).map((tokens) =>
      sizeAt({ flops: 1e17, tokens, ...(means.examples !== undefined && { examples: Math.ceil(tokens / 50) }) }),
    );
    expect(rising(sized)).toBe(true);
    expect(sized[79]).toBeGreaterThan(10 * sized[0]);
  });

  it("never take more memory than there is, as far as a smaller model helps", () => {
    const sized = amounts(2 ** 26, 2 ** 36).map((memory) => ({ memory, ...sizesFor({ ...means, flops: 1e18, tokens: 1e10, memory }) }));
    expect(rising(sized.map((sizes) => parametersOf(sizes, means)))).toBe(true);
    for (const sizes of sized) if (sizes.width > 96) expect(16 * parametersOf(sizes, means)).toBeLessThan(sizes.memory);
  });

  it("are batches that the data can fill", () => {
    for (const tokens of amounts(40, 1e7).map(Math.floor)) {
      const examples = means.examples === undefined ? undefined : Math.max(2, Math.ceil(tokens / 50));
      const { batch, context = 1 } = sizesFor({ ...means, flops: 1e15, tokens, ...(examples !== undefined && { examples }) });
      expect(batch).toBeGreaterThanOrEqual(1);
      if (examples === undefined && tokens > 100) expect((batch + 2) * context).toBeLessThanOrEqual(tokens);
      if (examples !== undefined) expect(batch).toBeLessThanOrEqual(Math.max(1, examples));
    }
  });

  const chosen: readonly GivenSizes[] = [
    { width: 48, heads: 3 },
    { layers: 3 },
    { batch: 5, dropout: 0.37 },
    { context: 33, heads: 1 },
    { layers: 1, width: 20, heads: 2, context: 9, batch: 2, dropout: 0 },
  ];
  it.each(chosen)("leave what was given: %o", (given) => {
    expect(sizesFor({ ...means, flops: 1e15 }, given)).toMatchObject(given);
  });
});

it("heads divide the width, whatever it is", () => {
  for (let width = 1; width < 600; width++) expect(width % (sizesFor(book, { width }).heads ?? 1)).toBe(0);
});

it("heads that were given, of queries or of keys and values, fit the width that is chosen", () => {
  for (const flops of amounts(1e9, 1e17))
    for (const [heads, kvHeads] of [
      [6, 1],
      [undefined, 2],
      [undefined, 4],
    ]) {
      const found = sizesFor({ ...book, flops }, { ...(heads && { heads }), kvHeads });
      expect([found.width % (2 * (found.heads ?? 1)), (found.heads ?? 0) % (kvHeads ?? 1)]).toEqual([0, 0]);
    }
});

it("with Muon a model is larger, and so is a batch: it learns more from each token, and works on every matrix in each step", () => {
  for (const flops of amounts(1e12, 1e16)) {
    const [usual, muon] = [sizesFor({ ...book, flops }), sizesFor({ ...book, flops, optimizer: "muon" })];
    expect(parametersOf(muon, book)).toBeGreaterThanOrEqual(parametersOf(usual, book));
    expect(muon.batch * (muon.context ?? 0)).toBeGreaterThan(8 * muon.width - (muon.context ?? 0)); // whole windows
  }
  const table = [1, 5, 15, 30, 60].map((minutes) => sizesFor({ ...book, flops: 60 * minutes * 75e9, optimizer: "muon" }));
  expect(table.map(({ layers, width }) => `${layers} × ${width}`)).toEqual(["2 × 96", "4 × 128", "4 × 160", "4 × 192", "6 × 192"]);
});

it("little data that is read often is dropped more of", () => {
  const dropouts = amounts(1e5, 1e9).map((tokens) => sizesFor({ ...book, flops: 1e15, tokens }, { layers: 6, width: 256 }).dropout);
  expect(rising(dropouts.toReversed())).toBe(true);
  expect([dropouts[0] >= 0.2, dropouts[79]]).toEqual([true, 0]);
  expect(sizesFor({ ...book, task: "classify", model: "encoder", examples: 1000 }).dropout).toBeGreaterThanOrEqual(0.1);
});
