import { describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import type { Batch } from "../../src/batches/batch.ts";
import { type Hiding, hiddenScoring, hiddenWindows, hide, mostHidden } from "../../src/batches/hidden.ts";
import { idsInMemory } from "../../src/batches/ids.ts";

// Of 1,010 ids the first ten are special; 3 is the mask.
const mask = 3;
const hiding: Hiding = {
  mask,
  ordinary: Int32Array.from({ length: 1000 }, (_, i) => 10 + i),
  mayHide: (id) => id >= 10,
  frame: { before: [1], after: [2] },
};
const text = (length: number) => idsInMemory(Int32Array.from({ length }, (_, i) => (i % 7 === 0 ? i % 10 : 10 + ((i * 37) % 1000))));
const numbers = (batch: Batch, name: string) => [...(batch.feeds[name].data as Int32Array)];
const feedsOf = (batch: Batch) => ["ids", "lengths", "targets"].map((name) => numbers(batch, name));

describe("hidden tokens", () => {
  const windows = Array.from({ length: 400 }, (_, row) => {
    const window = Int32Array.from({ length: 100 }, (_, i) => (i % 10 === 0 ? 4 : 10 + ((i * 37 + row * 11) % 1000)));
    return { window, ...hide(window, hiding, chance(1).fork(row)) };
  });

  it("are 15 of 100: 80 % masked, 10 % another token, 10 % as they were", () => {
    let [all, masked, same] = [0, 0, 0];
    const others = new Set<number>();
    for (const { window, ids, tags } of windows) {
      for (const [i, id] of window.entries()) {
        const [seen, target] = [ids[i + 1], tags[i + 1]];
        if (target === -1) {
          if (seen !== id) throw new Error(`${seen} stands where nothing is hidden`);
          continue;
        }
        expect(target).toBe(id);
        all++;
        if (seen === mask) masked++;
        else if (seen === id) same++;
        else others.add(seen);
      }
    }
    expect(all).toBe(400 * Math.round(0.15 * 90)); // of those that are not special
    expect(masked / all).toBeGreaterThan(0.78);
    expect(masked / all).toBeLessThan(0.82);
    expect(same / all).toBeGreaterThan(0.085);
    expect(same / all).toBeLessThan(0.115);
    expect(others.size).toBeGreaterThan(300); // drawn from all that are not special
    expect(Math.min(...others)).toBeGreaterThanOrEqual(10);
  });

  it("are never special ones, nor what stands around a text", () => {
    for (const { window, ids, tags } of windows) {
      expect([ids[0], ids.at(-1), tags[0], tags.at(-1), ids.length]).toEqual([1, 2, -1, -1, 102]);
      expect(window.some((id, i) => id < 10 && tags[i + 1] !== -1)).toBe(false);
    }
  });

  it("are everywhere alike", () => {
    const times = new Array(100).fill(0);
    for (const { tags } of windows) for (let i = 0; i < 100; i++) times[i] += Number(tags[i + 1] !== -1);
    const ordinary = times.filter((_, i) => i % 10 !== 0);
    expect(Math.min(...ordinary)).toBeGreaterThan(30); // 62 are expected, give or take 7
    expect(Math.max(...ordinary)).toBeLessThan(100);
  });

  it("are at least one of however few, and none where all are special", () => {
    const targetsOf = (...ids: number[]) => [...hide(Int32Array.from(ids), hiding, chance(2)).tags];
    expect(targetsOf(4, 500, 5)).toEqual([-1, -1, 500, -1, -1]);
    expect(targetsOf(4, 5)).toEqual([-1, -1, -1, -1]);
    expect(targetsOf()).toEqual([-1, -1]);
  });
});

describe("batches with hidden tokens", () => {
  it("hide no more in a row than is foretold for its window", () => {
    for (const context of [3, 4, 12, 40, 101]) {
      const { feeds } = hiddenWindows(text(2000), { batch: 8, context }, hiding, chance(5)).batch(3);
      const targets = feeds.targets.data as Int32Array;
      for (let row = 0; row < 8; row++) {
        const hidden = targets.subarray(row * context, (row + 1) * context).filter((target) => target !== -1).length;
        expect(hidden).toBeLessThanOrEqual(mostHidden(context));
      }
    }
  });

  it("are the same for the same number, in any order of asking, and others for another", () => {
    const windows = () => hiddenWindows(text(700), { batch: 2, context: 12 }, hiding, chance(5));
    const [one, other] = [windows(), windows()];
    const forwards = [0, 1, 30, 77, 400].map((i) => feedsOf(one.batch(i)));
    expect(forwards).toEqual([400, 77, 30, 1, 0].map((i) => feedsOf(other.batch(i))).reverse());
    expect(new Set(forwards.map((feeds) => JSON.stringify(feeds))).size).toBe(5);
    expect(one.batch(0)).toMatchObject({ tokens: 24, places: 24, feeds: { ids: { shape: [2, 12] } } });
    expect(one.batch(0).targets).toBe(feedsOf(one.batch(0))[2].filter((target) => target !== -1).length);
  });

  it("hide other tokens of the same windows in every epoch", () => {
    const ids = idsInMemory(Int32Array.from({ length: 17 }, () => 500));
    const windows = hiddenWindows(ids, { batch: 1, context: 8 }, { ...hiding, frame: { before: [], after: [] } }, chance(1));
    const places = Array.from({ length: 40 }, (_, i) => numbers(windows.batch(i), "targets").indexOf(500));
    expect(new Set(places).size).toBeGreaterThan(4);
  });

  it("to score with are the same every time, and the last window may be short", () => {
    const scored = () => [...hiddenScoring(text(25), { batch: 2, context: 12 }, hiding)];
    expect(scored().map(feedsOf)).toEqual(scored().map(feedsOf));
    expect(scored().map((batch) => numbers(batch, "lengths"))).toEqual([[12, 12], [7]]);
    const last = feedsOf(scored()[1]);
    expect(last[0].slice(6)).toEqual([2, 0, 0, 0, 0, 0]);
    expect(last[2].slice(6)).toEqual([-1, -1, -1, -1, -1, -1]);
  });

  it("refuse a context that what stands around a text fills", () => {
    expect(() => hiddenWindows(text(50), { batch: 1, context: 2 }, hiding, chance(1))).toThrow("choose a larger context");
  });
});
