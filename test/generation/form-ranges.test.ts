import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chance } from "../../src/base/chance.ts";
import { Automaton } from "../../src/generation/automaton.ts";
import { byteRows, codePoints, everyCodePoint } from "../../src/generation/code-points.ts";
import { Effort, Remembered } from "../../src/generation/effort.ts";
import { type Grammar, Writable } from "../../src/generation/grammar.ts";
import { beside, integersBetween, numbersBetween } from "../../src/generation/number-range.ts";

// Forms against all that they could say, one by one.

function reads(grammar: Grammar): (text: string) => boolean {
  const automaton = new Automaton(grammar, new Writable(grammar, everyCodePoint), new Remembered(1e9));
  return (text) => {
    const effort = new Effort();
    let state: typeof automaton.start | null = automaton.start;
    for (const byte of new TextEncoder().encode(text)) state = state && automaton.step(state, byte, effort);
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
      const is = reads(
        numbersBetween(low.included ? low.value : beside(low.value, "above"), high.included ? high.value : beside(high.value, "below")),
      );
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

/** Numbers as a schema may have them: of any size below 1e15, down to the smallest that there is. */
const bound = fc.oneof(
  fc.double({ min: -1e14, max: 1e14, noNaN: true }),
  fc.double({ min: -1e-5, max: 1e-5, noNaN: true }),
  fc.double({ min: -1e-300, max: 1e-300, noNaN: true }),
  fc.constantFrom(0, 1e-20, -1e-20, 1.23456789012e-7, Math.PI, 0.1234567890123456, 0.1 + 0.2, Number.MIN_VALUE),
);

/** A number as it is written without an exponent, exactly. */
const plain = (value: number): string => {
  const [digits, exponent] = String(Math.abs(value)).split("e-");
  const written = exponent ? `0.${"0".repeat(Number(exponent) - 1)}${digits.replace(".", "")}` : digits;
  return value < 0 ? `-${written}` : written;
};

describe("bounds are exact, however small and however many digits they have", () => {
  it("a bound is among its numbers, and so is no text that is read as one beyond it", () => {
    fc.assert(
      fc.property(bound, fc.integer({ min: 0, max: 2 }), fc.stringMatching(/^\d{0,4}$/), (value, gap, more) => {
        const low = Array.from({ length: gap }).reduce<number>((at) => beside(at, "above"), value);
        const above = reads(numbersBetween(low, 2e14));
        const below = reads(numbersBetween(-2e14, low));
        for (const near of [value, low, beside(low, "below"), beside(low, "above")]) {
          const written = plain(near);
          for (const text of [written, written.includes(".") ? written + more : written, written.slice(0, -1)]) {
            if (!/\d$/.test(text) || Object.is(Number(text), -0)) continue;
            if (above(text)) expect(Number(text), `${text} from ${low}`).toBeGreaterThanOrEqual(low);
            if (below(text)) expect(Number(text), `${text} to ${low}`).toBeLessThanOrEqual(low);
          }
        }
        expect(reads(numbersBetween(low, low))(plain(Object.is(low, -0) ? 0 : low)), `only ${low}`).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it("the number beside another is the next, with none between", () => {
    fc.assert(
      fc.property(bound, (value) => {
        expect(beside(value, "above")).toBeGreaterThan(value);
        expect(beside(beside(value, "above"), "below")).toBe(value + 0);
        const middle = value / 2 + beside(value, "above") / 2;
        expect([value, beside(value, "above")]).toContain(middle + 0);
      }),
    );
  });

  it("nothing is added that is beside a common bound", () => {
    const is = reads(numbersBetween(beside(0, "above"), beside(1, "below")));
    expect(["0.5", "0.000000000000001", "0.999999999999999"].map(is)).toEqual([true, true, true]);
    expect(["0", "1", "0.0", "1.0", "0.0000000000000001", "-0.5"].map(is)).toEqual([false, false, false, false, false, false]);
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
