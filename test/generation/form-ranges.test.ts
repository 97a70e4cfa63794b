import { describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { Automaton } from "../../src/generation/automaton.ts";
import { byteRows, codePoints, everyCodePoint } from "../../src/generation/code-points.ts";
import { type Grammar, Writable } from "../../src/generation/grammar.ts";
import { integersBetween, numbersBetween } from "../../src/generation/number-range.ts";

// Forms against all that they could say, one by one.

function reads(grammar: Grammar): (text: string) => boolean {
  const automaton = new Automaton(grammar, new Writable(grammar, everyCodePoint));
  return (text) => {
    let state: typeof automaton.start | null = automaton.start;
    for (const byte of new TextEncoder().encode(text)) state = state && automaton.step(state, byte);
    return state?.complete === true;
  };
}

describe("numbers between bounds are those, and no others", () => {
  it("whole numbers", () => {
    const draws = chance(1);
    for (let round = 0; round < 150; round++) {
      const [a, b] = [0, 1].map((i) => Math.floor((draws.uniform(2 * round + i) - 0.5) * 10 ** (1 + (round % 4))));
      const [low, high] = [Math.min(a, b), Math.max(a, b)];
      const is = reads(integersBetween(low, high));
      for (let value = low - 30; value <= high + 30; value += 1 + Math.floor((high - low) / 300))
        expect(is(String(value)), `${value} in ${low}…${high}`).toBe(value >= low && value <= high);
      expect([low, high].map((value) => is(String(value)))).toEqual([true, true]);
      for (const wrong of ["", "-", "-0", "00", "01", "1.0", "1e2", "+1"]) expect(is(wrong), wrong).toBe(false);
    }
  });

  it("numbers with a point", () => {
    const draws = chance(2);
    let n = 0;
    const drawn = (digits: number): number => Number(((draws.uniform(n++) - 0.5) * 40).toFixed(digits));
    for (let round = 0; round < 200; round++) {
      const [a, b] = [drawn(round % 4), drawn((round >> 2) % 4)];
      const low = { value: Math.min(a, b), included: round % 3 > 0 };
      const high = { value: Math.max(a, b) + (a === b ? 1 : 0), included: round % 5 > 0 };
      const is = reads(numbersBetween(low, high));
      const samples = [low.value, high.value, ...Array.from({ length: 60 }, () => drawn(Math.floor(draws.uniform(n++) * 6)))];
      for (const value of samples) {
        const inside =
          (value > low.value || (low.included && value === low.value)) && (value < high.value || (high.included && value === high.value));
        for (const text of new Set([String(value), value.toFixed(6)])) {
          if (Object.is(value, -0) || /^-0(\.0*)?$/.test(text)) continue; // 0 is written without a sign
          expect(is(text), `${text} in ${JSON.stringify([low, high])}`).toBe(inside);
        }
      }
    }
  });
});

it("the byte rows of a set are the UTF-8 of its characters, and of no others", () => {
  const sets = [
    codePoints([0x20, 0x7e]),
    codePoints("äü€猫🙂", [0x700, 0x900]),
    codePoints([0x7f0, 0x10010]),
    everyCodePoint,
    codePoints([0xfff0, 0x10ffff]),
  ];
  for (const set of sets) {
    const rows = byteRows(set);
    for (let point = 0; point <= 0x10ffff; point += point < 0x1000 ? 1 : 97) {
      if (point >= 0xd800 && point < 0xe000) continue;
      const bytes = new TextEncoder().encode(String.fromCodePoint(point));
      const found = rows.filter((row) => row.length === bytes.length && row.every(([low, high], i) => low <= bytes[i] && bytes[i] <= high));
      expect(found.length, point.toString(16)).toBe(set.some(([low, high]) => low <= point && point <= high) ? 1 : 0);
    }
  }
});
