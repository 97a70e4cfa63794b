import type { Chance } from "../../src/base/chance.ts";

/** One to three damages of the kind that disks, networks and strangers do. The same source gives the same result. */
export function mutateBytes(bytes: Uint8Array, source: Chance): Uint8Array {
  let result = bytes;
  const times = 1 + source.integer(0, 3);
  for (let time = 0; time < times; time++) {
    const own = source.fork(time);
    result = mutations[own.integer(0, mutations.length)](result, own.fork("how"));
  }
  return result;
}

/** As above; half of the time only the header changes and its length stays true, so that the damage is met behind the first check. */
export function mutateSafetensors(file: Uint8Array, source: Chance): Uint8Array {
  if (source.integer(9, 2) === 0) return mutateBytes(file, source);
  const length = Number(new DataView(file.buffer, file.byteOffset).getBigUint64(0, true));
  const header = mutateBytes(file.subarray(8, 8 + length), source);
  const start = new DataView(new ArrayBuffer(8));
  start.setBigUint64(0, BigInt(header.length), true);
  return joined(new Uint8Array(start.buffer), header, file.subarray(8 + length));
}

/** As above; half of the time one of the lengths, counts or types before the numbers becomes another. */
export function mutateGguf(file: Uint8Array, source: Chance): Uint8Array {
  if (source.integer(9, 2) === 0) return mutateBytes(file, source);
  const result = file.slice();
  const at = 4 * source.integer(10, Math.floor(file.length / 16));
  const choices = [0n, 1n, 9n, 255n, 2n ** 31n, 2n ** 32n, 2n ** 53n, 2n ** 64n - 1n];
  new DataView(result.buffer).setBigUint64(at, choices[source.integer(11, choices.length)], true);
  return result;
}

type Mutation = (bytes: Uint8Array, source: Chance) => Uint8Array;

const numbers = ["0", "1", "-1", "1.5", "1e3", "9007199254740991", "9007199254740993", "99999999999999999999", "null", "[]", "07"];
const names = ['"a"', '"\\u0061"', '"__proto__"', '"__metadata__"', '"constructor"', '""', '"\\ud800"', '"F32"', '"dtype"', "{}", "1"];

const mutations: readonly Mutation[] = [
  (bytes, source) => changed(bytes, source.integer(1, bytes.length), (byte) => byte ^ (1 << source.integer(2, 8))),
  (bytes, source) => changed(bytes, source.integer(1, bytes.length), () => source.integer(2, 256)),
  (bytes, source) => changed(bytes, source.integer(1, Math.min(8, bytes.length)), () => source.integer(2, 256)), // a length
  (bytes, source) => bytes.slice(0, source.integer(1, bytes.length + 1)),
  (bytes, source) => joined(bytes, source.bytes(new Uint8Array(1 + source.integer(1, 20)))),
  (bytes, source) => splice(bytes, stretch(bytes, source), new Uint8Array(0)),
  (bytes, source) => splice(bytes, stretch(bytes, source), encoded("[".repeat(1 + source.integer(5, 5000)))),
  (bytes, source) => splice(bytes, [source.integer(5, bytes.length + 1), 0], bytes.slice(...stretch(bytes, source))),
  (bytes, source) => replaced(bytes, source, /[0-9]+/g, numbers),
  (bytes, source) => replaced(bytes, source, /"[^"]*"/g, names),
  (bytes, source) => replaced(bytes, source, /"[^"]*":\{[^{}]*\}/g), // an entry in the place of another: the same key twice
  (bytes, source) => replaced(bytes, source, /"[^"]*"/g),
];

const encoded = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0));

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

function changed(bytes: Uint8Array, place: number, change: (byte: number) => number): Uint8Array {
  return bytes.map((byte, i) => (i === place ? change(byte) : byte));
}

/** Where it starts, and how long it is. */
function stretch(bytes: Uint8Array, source: Chance): [start: number, length: number] {
  return [source.integer(3, bytes.length + 1), source.integer(4, 40)];
}

function splice(bytes: Uint8Array, [start, length]: readonly [number, number], by: Uint8Array): Uint8Array {
  return joined(bytes.subarray(0, start), by, bytes.subarray(start + length));
}

/** One match becomes another text, or a copy of another match. */
function replaced(bytes: Uint8Array, source: Chance, pattern: RegExp, by?: readonly string[]): Uint8Array {
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  const matches = [...text.matchAll(pattern)];
  if (matches.length === 0) return bytes;
  const { 0: old, index } = matches[source.integer(1, matches.length)];
  const choices = by ?? matches.map(([match]) => match);
  return splice(bytes, [index, old.length], encoded(choices[source.integer(2, choices.length)]));
}
