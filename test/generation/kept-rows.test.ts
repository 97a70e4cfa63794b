import fc from "fast-check";
import { expect, it } from "vitest";
import { array } from "../../src/base/arrays.ts";
import { KeptRows } from "../../src/generation/kept-rows.ts";

// Whatever happens to rows, each holds its own numbers, and behind its end there is nothing that could hurt it.

const kept = [
  { input: "keys", size: 2 },
  { input: "values", size: 3 },
];
const heads = 2;
const longest = 400;

/** Arrays [row, head, place, size] in which every number says whose it is; after a row's end they are not numbers. */
const given = (rows: readonly (readonly number[])[]) => {
  const time = Math.max(0, ...rows.map(({ length }) => length));
  const numbers = (size: number) =>
    rows.flatMap((row) =>
      Array.from({ length: heads }, (_, head) =>
        Array.from({ length: time * size }, (_, i) => (row[Math.floor(i / size)] ?? Number.NaN) + head / 2 + (i % size) / 8),
      ).flat(),
    );
  return Object.fromEntries(
    kept.map(({ input, size }) => [input, array("float32", Float32Array.from(numbers(size)), [rows.length, heads, time, size])]),
  );
};

function expectRows(rows: KeptRows, wanted: readonly (readonly number[])[]): void {
  expect(rows.lengths).toEqual(wanted.map(({ length }) => length));
  const views = rows.views();
  for (const { input, size } of kept) {
    const { data, shape } = views[input];
    expect(shape).toEqual([wanted.length, heads, rows.places, size]);
    const wrong: number[] = [];
    for (const [i, row] of wanted.entries())
      for (let head = 0; head < heads; head++)
        for (let place = 0; place < rows.places; place++)
          for (let part = 0; part < size; part++) {
            const value = row[place] === undefined ? 0 : row[place] + head / 2 + part / 8;
            const at = ((i * heads + head) * rows.places + place) * size + part;
            if (data[at] !== value) wrong.push(at);
          }
    expect(wrong).toEqual([]);
  }
}

it("rows that join, grow, are doubled, change places and leave hold what is theirs, and zeros behind it", () => {
  const length = fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 60, max: 70 }), fc.integer({ min: 200, max: 300 }));
  const move = fc.oneof(
    fc.record({ kind: fc.constant("join" as const), lengths: fc.array(length, { minLength: 1, maxLength: 4 }) }),
    fc.record({ kind: fc.constant("append" as const), count: fc.integer({ min: 1, max: 9 }) }),
    fc.record({ kind: fc.constant("keep" as const), picks: fc.array(fc.nat(), { maxLength: 7 }) }),
    fc.record({ kind: fc.constant("leave" as const), pick: fc.nat() }),
  );
  fc.assert(
    fc.property(fc.array(move, { maxLength: 12 }), (moves) => {
      const rows = new KeptRows(kept, heads, longest);
      let wanted: number[][] = [];
      let number = 0;
      const fresh = (count: number) => Array.from({ length: count }, () => ++number);
      for (const one of moves) {
        if (one.kind === "join") {
          const joining = one.lengths.map(fresh);
          rows.join(given(joining), one.lengths);
          wanted.push(...joining);
        } else if (one.kind === "append" && wanted.length > 0) {
          const more = wanted.map((_, i) => fresh(i % 3 === 2 ? 0 : one.count));
          rows.append(
            given(more),
            more.map((row) => row.length),
          );
          wanted = wanted.map((row, i) => [...row, ...more[i]]);
        } else if (one.kind === "keep" && wanted.length > 0) {
          const picks = one.picks.map((pick) => pick % wanted.length);
          rows.keep(picks);
          wanted = picks.map((pick) => wanted[pick]);
        } else if (one.kind === "leave" && wanted.length > 0) {
          const gone = one.pick % wanted.length;
          const order = [...wanted.keys()].slice(0, -1).map((i) => (i === gone ? wanted.length - 1 : i)); // the last fills the hole
          rows.keep(order);
          wanted = order.map((row) => wanted[row]);
        }
        expectRows(rows, wanted);
        if (wanted.length === 0 && rows.lengths.length === 0 && one.kind !== "append") expect(rows.bytes).toBe(0);
      }
    }),
    { numRuns: 200 },
  );
});

it("a row that leaves moves one row, and memory is given back when a quarter is used, and all of it when nobody is there", () => {
  const rows = new KeptRows(kept, heads, longest);
  for (let i = 0; i < 16; i++) rows.join(given([[i, i, i]]), [3]);
  const most = rows.bytes;
  const each = 4 * heads * rows.places * 5;
  expect(most).toBeLessThanOrEqual(1.5 * 16 * each);
  const { buffer } = rows.views().keys.data;
  rows.keep([0, 15, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
  expect(rows.views().keys.data.buffer).toBe(buffer);
  rows.keep([0, 1, 2, 3, 4, 5, 6]);
  expect(rows.bytes).toBe(most);
  rows.keep([1, 2, 3]);
  expect(rows.bytes).toBe(3 * each);
  expectRows(
    rows,
    [15, 2, 3].map((i) => [i, i, i]),
  );
  rows.keep([]);
  expect(rows.bytes).toBe(0);
});
