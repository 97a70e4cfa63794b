import fc from "fast-check";
import { expect, it } from "vitest";
import { chance } from "../../../src/base/chance.ts";
import { FormatError } from "../../../src/base/errors.ts";
import { type ByteSource, type GgufMetadata, type GgufValue, ggufNumbers, inMemory, parseGguf } from "../../../src/weights/gguf.ts";
import { type GgufTypeName, ggufBytes, ggufTypeNames, ggufTypes, type WrittenType, writtenTypes } from "../../../src/weights/gguf-types.ts";
import { halfBits, halfValues } from "../../../src/weights/half.ts";
import { ggufFile, type OutTensor } from "../../support/gguf-files.ts";
import { mutateGguf } from "../../support/mutate-bytes.ts";
import reference from "./blocks.json" with { type: "json" };

const bytesOf = (base: string): Uint8Array => Uint8Array.from(atob(base), (letter) => letter.charCodeAt(0));
const floatsOf = (base: string): Float32Array => new Float32Array(bytesOf(base).buffer);

it.each(ggufTypeNames)("reads %s as the Python package does, bit for bit", (type) => {
  const { bytes, values } = reference.read[type];
  const wanted = floatsOf(values);
  expect(ggufNumbers({ type, shape: [wanted.length] }, bytesOf(bytes))).toEqual(wanted);
});

it.each(["F16", "Q8_0"] as const)("writes %s as the Python package does, bit for bit", (type) => {
  const { bytes, values } = reference.write[type];
  expect(ggufBytes(floatsOf(values), type)).toEqual(bytesOf(bytes));
});

it("knows every half by its bits, and the nearest half of every number", () => {
  const values = halfValues();
  for (let bits = 0; bits < 65_536; bits++) {
    if (Number.isNaN(values[bits])) expect(values[halfBits(values[bits])]).toBeNaN();
    else if (halfBits(values[bits]) !== bits) throw new Error(`${bits} became ${halfBits(values[bits])}`);
  }
  fc.assert(
    fc.property(fc.nat(0x7bfe), fc.float({ min: 0, max: 1, noNaN: true }), (bits, share) => {
      const [low, high] = [values[bits], values[bits + 1]];
      const between = Math.fround(low + share * (high - low));
      const [below, above] = [between - low, high - between];
      const nearest = below < above ? bits : below > above ? bits + 1 : bits + (bits % 2);
      expect(halfBits(between)).toBe(nearest);
      expect(halfBits(-between)).toBe(nearest | 0x8000);
    }),
  );
  expect([65_519, 65_520, 1e9].map(halfBits)).toEqual([0x7bff, 0x7c00, 0x7c00]);
});

const text = fc.string({ unit: "grapheme" });
const whole = (min: number, max: number) => fc.integer({ min, max });
const numberOf = {
  uint8: whole(0, 255),
  int8: whole(-128, 127),
  uint16: whole(0, 65_535),
  int16: whole(-32_768, 32_767),
  uint32: whole(0, 2 ** 32 - 1),
  int32: whole(-(2 ** 31), 2 ** 31 - 1),
  float32: fc.float(),
  float64: fc.double(),
  uint64: fc.oneof(fc.maxSafeNat(), fc.constant(2n ** 64n - 1n)),
  int64: fc.oneof(fc.maxSafeInteger(), fc.constant(-(2n ** 63n))),
};
const value: fc.Arbitrary<GgufValue> = fc.oneof(
  text.map((given): GgufValue => ({ type: "string", value: given })),
  fc.boolean().map((given): GgufValue => ({ type: "bool", value: given })),
  fc.array(text).map((given): GgufValue => ({ type: "array", of: "string", value: given })),
  fc.array(fc.boolean()).map((given): GgufValue => ({ type: "array", of: "bool", value: given })),
  ...(Object.keys(numberOf) as (keyof typeof numberOf)[]).flatMap((type) => [
    (numberOf[type] as fc.Arbitrary<number | bigint>).map((given): GgufValue => ({ type, value: given })),
    fc.array(numberOf[type] as fc.Arbitrary<number | bigint>).map((given): GgufValue => ({ type: "array", of: type, value: given })),
  ]),
);
const tensor = fc
  .record({ type: fc.constantFrom(...writtenTypes), sizes: fc.array(fc.nat(3), { maxLength: 2 }), row: fc.nat(2), seed: fc.nat() })
  .map(({ type, sizes, row, seed }): OutTensor => {
    const shape = [...sizes, row * ggufTypes[type].block];
    return { type, shape, numbers: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => chance(seed).normal(i)) };
  });

it("reads back what it wrote, value by value and tensor by tensor", () => {
  const metadata = fc.uniqueArray(fc.tuple(text, value), { selector: ([key]) => key, maxLength: 8 });
  const tensors = fc.uniqueArray(fc.tuple(text, tensor), { selector: ([key]) => key, maxLength: 6 });
  fc.assert(
    fc.property(metadata, tensors, fc.integer({ min: 1, max: 40 }), (words, given, piece) => {
      const file = ggufFile(new Map(words.filter(([key]) => key !== "general.alignment")), new Map(given));
      const { metadata: read, tensors: found } = parseGguf(exactly(file), "file", piece);
      expect([...read]).toEqual(words);
      expect([...found.keys()]).toEqual(given.map(([name]) => name));
      for (const [name, { type, shape, numbers }] of given) {
        const place = found.get(name);
        expect({ type: place?.type, shape: place?.shape }).toEqual({ type, shape });
        if (place) expect(file.subarray(place.begin, place.end)).toEqual(ggufBytes(numbers, type));
      }
    }),
    { numRuns: 200 },
  );
});

/** A source that gives what it is asked for and no byte more. */
const exactly = (bytes: Uint8Array): ByteSource => ({ size: bytes.length, read: (at, length) => bytes.slice(at, at + length) });

const small = (type: WrittenType = "F32", shape: readonly number[] = [2]): Map<string, OutTensor> =>
  new Map([["a", { type, shape, numbers: new Float32Array(shape.reduce((x, y) => x * y, 1)) }]]);

it("reads the version before, and numbers where the file has them", () => {
  const file = ggufFile(new Map([["general.name", { type: "string", value: "x" }]]), small());
  file[4] = 2;
  expect(parseGguf(inMemory(file), "file").tensors.get("a")).toEqual({
    type: "F32",
    shape: [2],
    begin: file.length - 32,
    end: file.length - 24,
  });
});

function refusal(file: Uint8Array): string {
  try {
    parseGguf(inMemory(file), "file");
  } catch (error) {
    expect(error).toBeInstanceOf(FormatError);
    return (error as Error).message;
  }
  throw new Error("nothing was refused");
}

/** A file of given bytes after the counts. */
function raw(
  tensors: number | bigint,
  values: number | bigint,
  ...rest: readonly (readonly [bits: 8 | 32 | 64, number | bigint] | string)[]
): Uint8Array {
  const bytes: number[] = [...new TextEncoder().encode("GGUF")];
  const put = (bits: number, given: number | bigint): void => {
    for (let i = 0; i < bits / 8; i++) bytes.push(Number((BigInt.asUintN(64, BigInt(given)) >> BigInt(8 * i)) & 255n));
  };
  put(32, 3);
  put(64, tensors);
  put(64, values);
  for (const item of rest) {
    if (typeof item !== "string") put(...item);
    else {
      const letters = new TextEncoder().encode(item);
      put(64, letters.length);
      bytes.push(...letters);
    }
  }
  return Uint8Array.from(bytes);
}

const zeros = (count: number): [8, number][] => Array.from({ length: count }, () => [8, 0]);
const place = (dimensions: readonly (number | bigint)[], type: number, offset: number | bigint) =>
  ["a", [32, dimensions.length], ...dimensions.map((size) => [64, size] as const), [32, type], [64, offset]] as const;

it.each([
  ["a GGUF file begins with the letters GGUF, and this one does not", new Uint8Array(3)],
  ["a GGUF file begins with the letters GGUF, and this one does not", new TextEncoder().encode("version https://git-lfs")],
  [
    "the versions of GGUF that are read are 2 and 3 (little-endian), and this file says 50331648",
    Uint8Array.of(71, 71, 85, 70, 0, 0, 0, 3),
  ],
  ["the number of tensors takes 8 bytes, and the file has 2 more; it was cut short (before byte 8)", raw(0, 0).subarray(0, 10)],
  [
    "18446744073709551615 tensors are announced, and 8 bytes are left for them; the file is damaged or was cut short (before byte 16)",
    raw(-1, 0),
  ],
  ["9 values of metadata are announced, and 0 bytes are left for them; the file is damaged or was cut short (before byte 24)", raw(0, 9)],
  [
    "a key of the metadata is announced with 1152921504606846976 bytes, and at most 65535 are read (before byte 32)",
    raw(0, 1, [64, 2n ** 60n], ...zeros(9)),
  ],
  [
    'the metadata "k" takes 200000000 bytes, and the file has 0 more; it was cut short (before byte 45)',
    raw(0, 1, "k", [32, 8], [64, 200_000_000]),
  ],
  ['the metadata "k" has the type 13, and there are 0 to 12 (before byte 37)', raw(0, 1, "k", [32, 13], [64, 0])],
  [
    '4294967296 items of the metadata "k" are announced, and 4 bytes are left for them; the file is damaged or was cut short (before byte 49)',
    raw(0, 1, "k", [32, 9], [32, 8], [64, 2 ** 32], [32, 0]),
  ],
  ['the metadata "k" is a list of lists, which no model has (before byte 41)', raw(0, 1, "k", [32, 9], [32, 9], [64, 1])],
  ['the metadata "k" is true or false, 1 or 0, and 7 was found (before byte 38)', raw(0, 1, "k", [32, 7], [8, 7])],
  ['the metadata has the key "k" twice (before byte 47)', raw(0, 2, "k", [32, 7], [8, 1], "k", [32, 7], [8, 1])],
  ['general.alignment is a power of two up to 2^20, not "12"', raw(0, 1, "general.alignment", [32, 4], [32, 12])],
  ['tensor "a" has 5 dimensions, and there are at most 4 (before byte 37)', raw(1, 0, "a", [32, 5], ...zeros(40))],
  [
    'a size of tensor "a" is 18446744073709551615, and a whole number below 2^53 was wanted (before byte 45)',
    raw(1, 0, ...place([-1], 0, 0)),
  ],
  ['tensor "a" of shape [9007199254740991, 4] takes more than 2^53 bytes', raw(1, 0, ...place([4, 2 ** 53 - 1], 0, 0))],
  ['tensor "a" has rows of 33 numbers, and Q4_0 wants a multiple of 32', raw(1, 0, ...place([33], 2, 0))],
  ['tensor "a" begins at byte 4 of the data, which is no multiple of the alignment 32 (before byte 57)', raw(1, 0, ...place([1], 0, 4))],
  ['tensor "a" ends at byte 96, and the file has 64; it was cut short', raw(1, 0, ...place([8], 0, 0), ...zeros(7))],
  ['there are two tensors called "a" (before byte 66)', raw(2, 0, ...place([1], 0, 0), ...place([1], 0, 32), ...zeros(64))],
])("says: %s", (message, file) => {
  expect(refusal(file)).toBe(`file: ${message}`);
});

it.each([
  [10, "Q2_K"],
  [22, "IQ2_S"],
  [39, "MXFP4"],
  [4, "a type that ggml has removed (4)"],
  [999, "number 999"],
])("refuses numbers of the type %i by its name", (type, name) => {
  expect(refusal(raw(1, 0, ...place([256], type, 0)))).toBe(
    `file: tensor "a" is of the type ${name}; those that are read are ${ggufTypeNames.join(", ")}; make the file again in one of them, with llama-quantize`,
  );
});

it("refuses tensors that overlap, and text that is not UTF-8", () => {
  const second = ["b", [32, 1], [64, 8], [32, 0], [64, 0]] as const;
  expect(refusal(raw(2, 0, ...place([8], 0, 0), ...second, ...zeros(64)))).toBe(
    'file: tensor "b" begins at byte 96 and overlaps another, which ends at 128',
  );
  expect(refusal(raw(0, 1, [64, 1], [8, 255], [32, 7], [8, 1]))).toBe("file: a key of the metadata is not UTF-8 text (before byte 33)");
});

it("does not write what nobody could read", () => {
  expect(() => ggufFile(new Map([["\ud800", { type: "bool", value: true }]]), new Map())).toThrow(/half a surrogate pair/);
  expect(() => ggufFile(new Map(), small("Q8_0", [33]))).toThrow('tensor "a" has rows of 33 numbers, and Q8_0 wants a multiple of 32');
});

const mutants = Number(process.env.QKV_FUZZ ?? 500);

it("meets damaged files with a FormatError, or reads them as something that fits", () => {
  const metadata: GgufMetadata = new Map<string, GgufValue>([
    ["general.architecture", { type: "string", value: "llama" }],
    ["llama.block_count", { type: "uint32", value: 2 }],
    ["tokenizer.ggml.tokens", { type: "array", of: "string", value: ["<s>", "é", "the"] }],
    ["tokenizer.ggml.scores", { type: "array", of: "float32", value: [0, -1, -2] }],
    ["tokenizer.ggml.add_bos_token", { type: "bool", value: true }],
    ["general.parameter_count", { type: "uint64", value: 12 }],
  ]);
  const tensors = writtenTypes.map((type, i): [string, OutTensor] => [
    `blk.${i}.${type}`,
    { type, shape: [i + 1, 64], numbers: new Float32Array(64 * (i + 1)) },
  ]);
  const file = ggufFile(metadata, new Map(tensors));
  let refused = 0;
  for (let i = 0; i < mutants; i++) {
    const damaged = mutateGguf(file, chance(1).fork(i));
    try {
      for (const { type, shape, begin, end } of parseGguf(inMemory(damaged), "file").tensors.values()) {
        const numbers = ggufNumbers({ type, shape }, damaged.subarray(begin, end));
        expect(numbers.length * ggufTypes[type satisfies GgufTypeName].bytes).toBe((end - begin) * ggufTypes[type].block);
      }
    } catch (error) {
      expect(error).toBeInstanceOf(FormatError);
      expect((error as Error).message).toMatch(/^file: .{1,500}$/u);
      refused++;
    }
  }
  expect(refused).toBeGreaterThan(0.6 * mutants);
});
