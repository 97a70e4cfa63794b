import { expect, it } from "vitest";
import { array, type HostArray } from "../../src/base/arrays.ts";
import { FormatError } from "../../src/base/errors.ts";
import { ParameterBuffer, type ParameterLayout } from "../../src/graph/parameters.ts";
import { loadParameters, parametersAsTensors } from "../../src/weights/load.ts";
import { readSafetensors, safetensorsParts } from "../../src/weights/safetensors.ts";

const zeros = { kind: "zeros" } as const;
const layout: ParameterLayout = {
  dtype: "float32",
  total: 5,
  entries: [
    { name: "out/weight", shape: [2, 2], initialiser: zeros, part: "other", offset: 0, length: 4 },
    { name: "out/bias", shape: [1], initialiser: zeros, part: "other", offset: 4, length: 1 },
  ],
};

it("carries parameters through a file", () => {
  const buffer = new ParameterBuffer(layout, Float32Array.of(1, 2, 3, 4, 5));
  const file = Uint8Array.from(safetensorsParts(parametersAsTensors(buffer)).flatMap((part) => [...part]));
  const back = new ParameterBuffer(layout);
  loadParameters(back, readSafetensors(file, "file").tensors, "file");
  expect(back.data).toEqual(buffer.data);
});

const right: [string, HostArray][] = [
  ["out/bias", array("float32", [5])],
  [
    "out/weight",
    array("float32", [
      [1, 2],
      [3, 4],
    ]),
  ],
];

it.each<[string, [string, HostArray][]]>([
  ['file: the parameter "out/bias" is missing; did you mean "out/bais"?', [right[1], ["out/bais", right[0][1]]]],
  ['file: the parameter "out/weight" is missing', [right[0]]],
  ['file: the model has no parameter "out/biass"; did you mean "out/bias"?', [...right, ["out/biass", right[0][1]]]],
  [
    'file: the parameter "out/bias" is float32 [2], and the model wants float32 [1]; do its weights and its config belong together?',
    [right[1], ["out/bias", array("float32", [1, 2])]],
  ],
  [
    'file: the parameter "out/bias" is float64 [1], and the model wants float32 [1]; do its weights and its config belong together?',
    [right[1], ["out/bias", array("float64", [1])]],
  ],
])("says: %s", (message, tensors) => {
  const buffer = new ParameterBuffer(layout, Float32Array.of(9, 9, 9, 9, 9));
  const load = () => loadParameters(buffer, new Map(tensors), "file");
  expect(load).toThrow(FormatError);
  expect(load).toThrow(new FormatError(message));
  expect([...buffer.data]).toEqual([9, 9, 9, 9, 9]);
});
