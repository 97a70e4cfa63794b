import { describe, expect, it } from "vitest";
import { cutOf, ExchangeChoice, type ExchangeReport } from "../../src/training/overlap.ts";
import { together } from "../support/together.ts";

/** What each rank hears of steps that take so many seconds with each way, of which a share is the exchange. */
const chosen = (
  seconds: (rank: number, way: "after" | "meanwhile", step: number) => number,
  share: number,
  fits: (rank: number) => boolean = () => true,
) =>
  together(3, async (group) => {
    const choice = new ExchangeChoice(group, "measured", async () => fits(group.rank));
    const ways: string[] = [];
    let report: ExchangeReport | undefined;
    for (let step = 1; step <= 30; step++) {
      ways.push(choice.way);
      const taken = seconds(group.rank, choice.way, step);
      report = (await choice.heard({ step, seconds: taken, exchange: share * taken, tokens: 100 })) ?? report;
    }
    return { ways, report };
  });

describe("how gradients are exchanged", () => {
  it("is the faster way, of which all ranks are told alike", async () => {
    for (const better of ["after", "meanwhile"] as const) {
      const all = await chosen((rank, way, step) => (way === better ? 1 : 2) + rank + (step % 5 === 1 ? 50 : 0), 0.3); // sessions are made in between
      for (const { ways, report } of all) {
        expect(report).toMatchObject({
          way: better,
          stepSeconds: better === "after" ? { after: 2, meanwhile: 3 } : { after: 3, meanwhile: 2 },
        });
        expect(new Set(ways)).toEqual(new Set(["after", "meanwhile"]));
        expect(ways.at(-1)).toBe(better);
        expect(ways).toEqual(all[0].ways);
      }
    }
  });

  it("stays as it is where there is little to win, or on one rank no room", async () => {
    for (const { ways, report } of await chosen(() => 1, 0.05)) {
      expect(report).toEqual({
        kind: "exchange",
        step: 5,
        way: "after",
        share: expect.closeTo(0.05, 9),
        stepSeconds: { after: 1 },
        untried: "little",
      });
      expect(new Set(ways)).toEqual(new Set(["after"]));
    }
    for (const { ways, report } of await chosen(
      () => 1,
      0.5,
      (rank) => rank !== 1,
    )) {
      expect(report).toMatchObject({ way: "after", untried: "memory" });
      expect(new Set(ways)).toEqual(new Set(["after"]));
    }
  });

  it("begins at a line of the cache, with parameters whose gradients are all there", () => {
    const lengths = [7, 100, 33, 5, 64, 9];
    let offset = 0;
    const entries = lengths.map((length, i) => {
      offset += length;
      return { name: `p${i}`, shape: [length], offset: offset - length, length, part: "other", initialiser: { kind: "zeros" } } as const;
    });
    const cut = cutOf({ dtype: "float32", total: offset, entries });
    expect(cut).toEqual({ stages: [["p3", "p4", "p5"], ["p2"]], from: 144 });
    expect(cutOf({ dtype: "float32", total: 7, entries: entries.slice(0, 1) })).toBeUndefined();
  });
});
