import fc from "fast-check";
import { expect, it } from "vitest";
import { array, bytesPerElement, type DType, elementCount, emptyArray, type HostArray } from "../../src/base/arrays.ts";
import { chance } from "../../src/base/chance.ts";
import { FormatError } from "../../src/base/errors.ts";
import { readSafetensors, safetensorsParts } from "../../src/weights/safetensors.ts";
import { parseSafetensorsHeader, safetensorsHeaderBytes } from "../../src/weights/safetensors-header.ts";
import { mutateSafetensors } from "../support/mutate-bytes.ts";
import { fileOf, joined } from "../support/safetensors-files.ts";

const dtypes: readonly DType[] = ["float32", "float64", "int32", "int64", "uint8", "bool"];
const hostArray = fc
  .record({ dtype: fc.constantFrom(...dtypes), shape: fc.array(fc.nat(4), { maxLength: 3 }), seed: fc.nat() })
  .map(({ dtype, shape, seed }): HostArray => {
    const data = emptyArray(dtype, elementCount(shape));
    chance(seed).bytes(new Uint8Array(data.buffer));
    return { dtype, shape, data: dtype === "bool" ? (data as Uint8Array).map((byte) => byte % 2) : data };
  });
const name = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.constantFrom("__proto__", "constructor", "7", "0", 'a"b', "a\\", "Tränen/weight"),
);

const bits = ({ dtype, shape, data }: HostArray) => [dtype, shape, [...new Uint8Array(data.buffer, data.byteOffset, data.byteLength)]];

it("reads back what it wrote, bit for bit and in order, wherever the file lies in memory", () => {
  const tensors = fc.uniqueArray(fc.tuple(name, hostArray), { selector: ([key]) => key, maxLength: 8 });
  const metadata = fc.dictionary(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme" }));
  fc.assert(
    fc.property(tensors, metadata, fc.nat(9), (given, words, shift) => {
      const file = joined(safetensorsParts(given, words));
      const bytes = new Uint8Array(file.length + shift).subarray(shift);
      bytes.set(file);
      const read = readSafetensors(bytes, "file");
      expect([...read.metadata]).toEqual(Object.entries(words));
      expect([...read.tensors].map(([key, tensor]) => [key, bits(tensor)])).toEqual(given.map(([key, tensor]) => [key, bits(tensor)]));
    }),
    { numRuns: 200 },
  );
});

it("writes the bytes of the format, and copies no data", () => {
  const data = Float32Array.of(1, -2);
  const parts = safetensorsParts([["w", { dtype: "float32", shape: [2], data }]]);
  const header = '{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  ';
  expect(joined(parts)).toEqual(
    joined([Uint8Array.of(56, 0, 0, 0, 0, 0, 0, 0), new TextEncoder().encode(header), Uint8Array.of(0, 0, 128, 63, 0, 0, 0, 192)]),
  );
  expect(parts[2].buffer).toBe(data.buffer);
});

it("reads in place where it can", () => {
  const file = joined(safetensorsParts([["w", array("float64", [1, 2])]]));
  expect(readSafetensors(file, "file").tensors.get("w")?.data.buffer).toBe(file.buffer);
});

it("reads scalars, empty tensors, half floats and brain floats", () => {
  const header =
    '{"scalar":{"dtype":"U8","shape":[],"data_offsets":[0,1]}, "none":{"dtype":"F32","shape":[0,3],"data_offsets":[1,1]},\n' +
    '"half":{"data_offsets":[1,17],"shape":[8],"dtype":"F16"},"brain":{"dtype":"BF16","shape":[2],"data_offsets":[17,21]}}';
  const file = fileOf(header, 21);
  const data = file.subarray(file.length - 21);
  data[0] = 7;
  data.set(new Uint8Array(Uint16Array.of(0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00, 0xfc00, 0x8000, 0x3555).buffer), 1);
  data.set(new Uint8Array(Uint16Array.of(0x3f80, 0xc049).buffer), 17);
  const { tensors } = readSafetensors(file, "file");
  expect(tensors.get("scalar")).toEqual({ dtype: "uint8", shape: [], data: Uint8Array.of(7) });
  expect(tensors.get("none")).toEqual({ dtype: "float32", shape: [0, 3], data: new Float32Array(0) });
  const half = [1, -2, 2 ** -24, 65504, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 0.333251953125];
  expect(tensors.get("half")).toEqual({ dtype: "float32", shape: [8], data: Float32Array.from(half) });
  expect(tensors.get("brain")).toEqual({ dtype: "float32", shape: [2], data: Float32Array.of(1, -3.140625) });
});

it("can read the header alone, knowing the size of the file", () => {
  const file = joined(safetensorsParts([["w", array("float32", [1, 2, 3])]], { step: "4" }));
  const size = safetensorsHeaderBytes(file.subarray(0, 8), file.length, "file");
  const header = parseSafetensorsHeader(file.subarray(0, size), file.length, "file");
  expect(header.headerBytes).toBe(file.length - 12);
  expect([...header.metadata]).toEqual([["step", "4"]]);
  expect([...header.tensors]).toEqual([["w", { dtype: "F32", shape: [3], begin: 0, end: 12 }]]);
});

const mutants = Number(process.env.QKV_FUZZ ?? 500);

it("meets damaged files with a FormatError, or reads them as something that fits", () => {
  const tensors: [string, HostArray][] = dtypes.map((dtype, i) => [
    `block.${i}/${dtype}`,
    { dtype, shape: [2, i], data: emptyArray(dtype, 2 * i) },
  ]);
  const file = joined(safetensorsParts([...tensors, ["a", array("float32", 1)]], { step: "12", note: "é" }));
  let refused = 0;
  for (let i = 0; i < mutants; i++) {
    const damaged = mutateSafetensors(file, chance(1).fork(i));
    try {
      for (const { dtype, shape, data } of readSafetensors(damaged, "file").tensors.values()) {
        expect(data.byteLength).toBe(elementCount(shape) * bytesPerElement(dtype));
      }
    } catch (error) {
      expect(error).toBeInstanceOf(FormatError);
      expect((error as Error).message).toMatch(/^file: .{1,400}$/u);
      refused++;
    }
  }
  expect(refused).toBeGreaterThan(0.8 * mutants);
});
