import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { array } from "../../src/base/arrays.ts";
import { buildGraph, tensorFunction } from "../../src/graph/graph.ts";
import { float32 } from "../../src/graph/type.ts";
import { compile } from "../../src/node/device.ts";
import { emitOnnx } from "../../src/onnx/emit.ts";
import { ModelProtoSchema } from "../../src/onnx/onnx_pb.ts";
import { linear } from "../../src/ops/index.ts";

const fn = tensorFunction({ x: float32(["batch", 2]) }, (p, { x }) => ({ y: linear(x, p.param("layer/weight", [2, 3])) }));

describe("an emitted model", () => {
  it("states its versions, keeps open axes by name and takes weights as inputs", () => {
    const model = fromBinary(ModelProtoSchema, emitOnnx(buildGraph(fn)));
    expect([model.irVersion, model.producerName]).toEqual([10n, "qkv"]);
    expect(model.opsetImport.map(({ domain, version }) => [domain, version])).toEqual([["", 23n]]);
    expect(model.graph?.input.map(({ name }) => name)).toEqual(["x", "layer/weight"]);
    expect(model.graph?.output.map(({ name }) => name)).toEqual(["output y"]);
    const type = model.graph?.input[0].type?.value;
    const shape = type?.case === "tensorType" ? type.value.shape : undefined;
    expect(shape?.dim.map(({ value }) => value.value)).toEqual(["batch", 2n]);
  });

  it("reads weights from a file beside it, at an offset, so that a model may exceed 2 GB", async () => {
    const folder = mkdtempSync(join(tmpdir(), "qkv-external-"));
    const numbers = Float32Array.of(99, 99, 1, 2, 3, 4, 5, 6);
    writeFileSync(join(folder, "weights.bin"), new Uint8Array(numbers.buffer));
    const f = compile(fn, { folder, weights: () => ({ kind: "external", file: "weights.bin", offset: 8 }) });
    expect([...(await f.run({ x: array("float32", [[1, 10]]) })).y.data]).toEqual([41, 52, 63]);
  });

  it("refuses to put more than 2 GiB inside, with the cure", () => {
    const big = tensorFunction({ x: float32([1, 2]) }, (p, { x }) => ({ y: linear(x, p.param("w", [2, 300_000_000])) }));
    expect(() => emitOnnx(buildGraph(big), { weights: () => ({ kind: "inline", data: new Float32Array(600_000_000) }) })).toThrow(
      "the weights take 2.2 GiB, and an ONNX file holds at most 2 GiB; keep them in a file beside it (external data)",
    );
  });
});
