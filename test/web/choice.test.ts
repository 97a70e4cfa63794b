import { describe, expect, it } from "vitest";
import { array } from "../../src/base/arrays.ts";
import { tensorFunction } from "../../src/graph/graph.ts";
import { ParameterBuffer } from "../../src/graph/parameters.ts";
import { parametersOf } from "../../src/runtime/compile.ts";
import { chosenOf } from "../../src/web/devices.ts";
import type { Trial } from "../../src/web/gap.ts";
import { addressesOf, type OnnxRuntime, threadsFor } from "../../src/web/onnxruntime.ts";

// What a page's devices decide by, without a page. What they compute is in test/browser/laws.test.ts.

/** That what is used of onnxruntime-web is there is checked by the compiler. */
const fits = (ort: typeof import("onnxruntime-web")): OnnxRuntime => ort;

const layout = parametersOf(tensorFunction({}, (p) => ({ loss: p.param("w", [3]) })));
const trial = (msPerStep: number, losses: readonly number[], gradients: readonly number[]): Trial => ({
  msPerStep,
  losses,
  gradients: new ParameterBuffer(layout, array("float32", gradients).data as Float32Array),
});
const wasm = trial(10, [4, 3], [1, -2, 0]);

describe("the choice of a device", () => {
  it("takes the quicker one", () => {
    expect(chosenOf(wasm, trial(2, [4, 3], [1, -2, 0]))).toMatchObject({
      chosen: "webgpu",
      why: expect.stringContaining("2.0 ms on WebGPU"),
    });
    expect(chosenOf(wasm, trial(20, [4, 3], [1, -2, 0]))).toMatchObject({ chosen: "wasm", why: expect.stringContaining("10.0 ms in Web") });
  });

  it.each([
    ["losses", trial(2, [4, 3.1], [1, -2, 0])],
    ["gradients", trial(2, [4, 3], [1, -2, 0.01])],
    ["losses that are no numbers", trial(2, [4, Number.NaN], [1, -2, 0])],
    ["gradients that are no numbers", trial(2, [4, 3], [1, -2, Number.NaN])],
  ])("trusts nobody whose %s differ", (_, found) => {
    const { chosen, why, measured } = chosenOf(wasm, found);
    expect([chosen, why]).toEqual(["wasm", expect.stringMatching(/^WebGPU is not trusted here: its losses are .* off/)]);
    expect(measured[1]).toMatchObject({ device: "webgpu", msPerStep: 2, reason: expect.stringContaining("off those of WebAssembly") });
  });
});

describe("threads", () => {
  it.each([
    [undefined, true, 8, 7],
    [undefined, true, 1, 1],
    [undefined, true, 64, 8],
    [undefined, false, 8, 1],
    [4, true, 8, 4],
    [4, true, 2, 2],
    [4, false, 8, 1],
    [1, false, 8, 1],
  ])("asked for %s, isolated %s, on %i cores: %i", (asked, isolated, cores, threads) => {
    expect(threadsFor(asked, isolated, cores)).toMatchObject({ threads, reason: expect.any(String) });
  });

  it("are a whole number", () => {
    expect(() => threadsFor(1.5, true, 8)).toThrow("threads must be a whole number from 1 on, not 1.5");
    expect(fits).toBeDefined();
  });
});

it("the files of a build are in the folder that is given, with or without a slash at its end", () => {
  const expected = { module: "https://a.b/ort/ort.wasm.min.mjs", mjs: "https://a.b/ort/ort-wasm-simd-threaded.mjs" };
  for (const folder of ["https://a.b/ort", "https://a.b/ort/", new URL("https://a.b/ort/")])
    expect(addressesOf(folder, "wasm")).toMatchObject(expected);
});
