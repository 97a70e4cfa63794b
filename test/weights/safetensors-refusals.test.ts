import { expect, it } from "vitest";
import { array } from "../../src/base/arrays.ts";
import { FormatError } from "../../src/base/errors.ts";
import { readSafetensors, safetensorsParts } from "../../src/weights/safetensors.ts";
import { parseSafetensorsHeader } from "../../src/weights/safetensors-header.ts";
import { fileOf } from "../support/safetensors-files.ts";

function refusal(file: Uint8Array): string {
  try {
    readSafetensors(file, "file");
  } catch (error) {
    expect(error).toBeInstanceOf(FormatError);
    return (error as Error).message;
  }
  throw new Error("nothing was refused");
}

it("refuses lengths that cannot be", () => {
  expect(refusal(new Uint8Array(5))).toBe("file: 5 bytes are too few for a safetensors file, which has at least 10");
  expect(refusal(new TextEncoder().encode("version https://git-lfs"))).toBe(
    "file: a header of 2336927755350992246 bytes is announced, and at most 100 MB are read; is this a safetensors file?",
  );
  expect(refusal(fileOf("{}").subarray(0, 9))).toBe("file: a header of 2 bytes is announced, and the file has only 9; it was cut short");
  expect(() => parseSafetensorsHeader(fileOf("{}").subarray(0, 9), 10, "file")).toThrow(FormatError);
});

const deep = "[".repeat(100_000);
const entry = (begin: number, end: number) => `{"dtype":"U8","shape":[2],"data_offsets":[${begin},${end}]}`;

it.each([
  ['the header of a safetensors file starts with "{", not ""', "", 0],
  ['the header of a safetensors file starts with "{", not " "', " {}", 0],
  ['the header has "x" at character 2, where the end of the header was wanted', "{}x", 0],
  ['the header ends at character 4, where ":" after the key "a" was wanted', '{"a"', 0],
  ['the header has "[" at character 5, where tensor "a", an object, was wanted', '{"a":[]}', 0],
  ["a key of the header is not a string that JSON allows (character 1 of the header)", '{"a', 0],
  ["a key of the header is not a string that JSON allows (character 1 of the header)", '{"\\ud800":{}}', 0],
  ['the header has "1" at character 24, where the metadata "step", a string, was wanted', '{"__metadata__":{"step":1}}', 0],
  ['the header has "n" at character 16, where the metadata, an object, was wanted', '{"__metadata__":null}', 0],
  ['the metadata has the key "a" twice (character 33 of the header)', '{"__metadata__":{"a":"1","\\u0061":"2"}}', 0],
  ['the header has the key "a" twice (character 61 of the header)', `{"a":${entry(0, 2)},"\\u0061":${entry(2, 4)}}`, 4],
  ['tensor "b" begins at byte 1 of the data and overlaps another; 2 was wanted', `{"a":${entry(0, 2)},"b":${entry(1, 3)}}`, 3],
  ['the header has "[" at character 5, where tensor "a", an object, was wanted', `{"a":${deep}`, 0],
  ['the header has "[" at character 15, where the shape of tensor "a", a whole number, was wanted', `{"a":{"shape":${deep}`, 0],
  ['the shape of tensor "a" has more than 1000 numbers (character 2016 of the header)', `{"a":{"shape":[${"1,".repeat(2000)}`, 0],
])("says: %s", (message, header, dataBytes) => {
  expect(refusal(fileOf(header, dataBytes))).toBe(`file: ${message}`);
});

it.each([
  ["has no data_offsets", '"dtype":"F32","shape":[]', 4],
  ['has the key "dtype" twice (character 27 of the header)', '"dtype":"F32","dtype":"F32"', 4],
  ['has the key "strides"; only dtype, shape and data_offsets are known', '"dtype":"F32","strides":[]', 4],
  [
    'has the dtype "F8_E4M3"; those that are read are F64, F32, F16, BF16, I64, I32, U8, BOOL',
    '"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]',
    4,
  ],
  ["of shape [134217728, 134217728] takes more than 2^53 bytes", '"dtype":"F32","shape":[134217728,134217728],"data_offsets":[0,4]', 4],
  ["has 4 bytes, and F32 of shape [3] takes 12", '"dtype":"F32","shape":[3],"data_offsets":[0,4]', 4],
  ["has the data_offsets [4, 0]; a begin and an end not before it were wanted", '"dtype":"F32","shape":[1],"data_offsets":[4,0]', 4],
  ["has the data_offsets [0, 4, 8]; a begin and an end not before it were wanted", '"dtype":"F32","shape":[1],"data_offsets":[0,4,8]', 4],
  ["begins at byte 4 of the data and leaves a gap; 0 was wanted", '"dtype":"F32","shape":[1],"data_offsets":[4,8]', 8],
])('says: tensor "a" %s', (message, fields, dataBytes) => {
  expect(refusal(fileOf(`{"a":{${fields}}}`, dataBytes))).toBe(`file: tensor "a" ${message}`);
});

it.each(["-1", "1.5", "1e0", "01", "9007199254740993", "123456789012345678901", "true"])("refuses a size of %s", (size) => {
  const message = refusal(fileOf(`{"a":{"dtype":"F32","shape":[${size}],"data_offsets":[0,4]}}`, 4));
  const found = size.slice(0, 20);
  expect(message).toMatch(`file: the shape of tensor "a" has "${found}", and a whole number from 0 to 2^53 - 1 was wanted (character 29`);
});

it("refuses a file that is too short or too long", () => {
  const header = '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}';
  expect(refusal(fileOf(header, 3))).toBe("file: the tensors take 4 bytes, and the file has 3 after its header; it was cut short");
  expect(refusal(fileOf(header, 5))).toBe("file: 1 bytes follow the last tensor, and the file should end there");
});

it("refuses text that is not UTF-8, and booleans that are neither", () => {
  expect(refusal(fileOf(Uint8Array.of(0x7b, 0x22, 0xff, 0x22)))).toBe("file: the header is not UTF-8 text");
  const file = fileOf('{"a":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}}', 1);
  file[file.length - 1] = 2;
  expect(refusal(file)).toBe('file: tensor "a" is BOOL and has bytes that are neither 0 nor 1');
});

it("does not write what nobody could read", () => {
  const one = array("float32", [1]);
  const twice: [string, typeof one][] = [
    ["a", one],
    ["a", one],
  ];
  expect(() => safetensorsParts(twice)).toThrow(/two tensors called "a"/);
  expect(() => safetensorsParts([["__metadata__", one]])).toThrow(FormatError);
  expect(() => safetensorsParts([["\ud800", one]])).toThrow(/half a surrogate pair/);
  expect(() => safetensorsParts([], { note: "\udc00" })).toThrow(/half a surrogate pair/);
  expect(() => safetensorsParts([["a", { ...one, shape: [2] }]])).toThrow(/tensor "a" has 1 numbers, and float32 of shape \[2\]/);
});
