import { readFileSync, rmSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import type { DeviceCheck } from "../../src/bench/check-device.ts";
import type { DeviceReport } from "../../src/node/devices.ts";
import { expectRefusal, outcome, tiny, Workplace } from "../support/command.ts";
import { softwareGpu } from "../support/swiftshader.ts";
import { rhyme } from "./samples.ts";

// Devices as a person meets them. WebGPU is the real provider of ONNX Runtime, on a GPU in software; no other device was ever run.

const { env, reason } = softwareGpu();
if (reason !== undefined) console.warn(`the tests of WebGPU are skipped: ${reason}`);
const before = { ...process.env };
Object.assign(process.env, env);
afterAll(() => {
  process.env = before;
  if (env) rmSync(env.LD_LIBRARY_PATH, { recursive: true, force: true });
});

const place = new Workplace();
place.write("a.txt", rhyme);
const trainingOf = (run: string) => JSON.parse(readFileSync(place.path(run, "config.json"), "utf8")).training;
const checked = (stdout: string) => JSON.parse(stdout) as DeviceCheck & { copies: string };
const foreign = process.platform === "win32" ? "coreml" : "dml";

describe("the processor", () => {
  it("agrees with itself, to the bit", async () => {
    const { stdout } = await place.done("check", "--device", "cpu", "--steps", "2", "--json");
    const { agrees, ops, training, generation } = checked(stdout);
    expect([agrees, training.map(({ model }) => model), generation.length]).toEqual([
      true,
      ["decoder", "encoder", "encoder-decoder", "rnn"],
      3,
    ]);
    for (const { op, cases, agree, gap } of ops) expect([op, agree, gap]).toEqual([op, cases, 0]);
    for (const { lossGap, weightGap } of training) expect([lossGap, weightGap]).toEqual([0, 0]);
    expect((await place.done("check", "--steps", "1")).stdout).toMatch(/agrees with the processor\n$/);
  });

  it("is what computes where nothing is said, and the config then says nothing", async () => {
    await place.done("train", "a.txt", ...tiny, "--out", "plain");
    await place.done("train", "a.txt", ...tiny, "--out", "named", "--device", "cpu");
    expect(trainingOf("plain")).not.toHaveProperty("device");
    expect(trainingOf("named").device).toBe("cpu");
    expect(outcome(place.path("named"))).toEqual(outcome(place.path("plain")));
  });

  it("takes the place of no device that is not there", async () => {
    expectRefusal(
      await place.qkv("train", "a.txt", ...tiny, "--out", "no", "--device", foreign, "--quiet"),
      1,
      `EngineError: ${foreign} cannot be used here: `,
    );
    expectRefusal(await place.qkv("generate", "plain", "--device", foreign), 1, /; what can be is told by qkv info --devices$/m);
    expectRefusal(await place.qkv("generate", "plain", "--device", "tpu"), 2, /Allowed choices are cpu, cuda, webgpu, dml, coreml, auto/);
    expectRefusal(await place.qkv("check", "--device", foreign), 1, `EngineError: ${foreign} cannot be used here: `);
    expectRefusal(await place.qkv("info"), 2, "give the folder of a run, or --devices");
  });
});

describe.skipIf(env === undefined)("WebGPU on a GPU in software", () => {
  it("is found, tried, and slower than the processor, which auto therefore takes", async () => {
    const { devices } = JSON.parse((await place.done("info", "--devices", "--json")).stdout) as { devices: DeviceReport[] };
    expect(devices.map(({ name, usable }) => [name, usable]).slice(0, 3)).toEqual([
      ["cpu", true],
      ["cuda", false],
      ["webgpu", true],
    ]);
    await place.done("train", "a.txt", ...tiny, "--out", "auto", "--device", "auto");
    expect(trainingOf("auto").device).toBe("cpu");
    expect(outcome(place.path("auto"))).toEqual(outcome(place.path("plain")));
  });

  it("agrees with the processor: every op and its gradient, 20 steps of training, generation", async () => {
    const { stdout } = await place.done("check", "--device", "webgpu", "--steps", "20", "--json");
    const { agrees, ops, training, generation, copies } = checked(stdout);
    expect(ops.filter(({ wrong }) => wrong !== undefined)).toEqual([]);
    const refusals = ops.filter(({ refused }) => refused !== undefined).map(({ op, cases }) => [op, cases > 0] as const);
    expect(Object.fromEntries(refusals)).toEqual({
      cast: true,
      quantisedLinear: false,
      attendEach: true, // with the noise of dropout: a loop over bytes
      attendEachBack: true,
    });
    for (const { model, lossGap, lastLoss, firstLoss, steps } of training) {
      expect([model, steps]).toEqual([model, 20]);
      expect(lossGap, model).toBeLessThan(1e-3);
      expect(lastLoss, model).toBeLessThan(firstLoss);
    }
    expect(generation.map((one) => one.agrees)).toEqual([true, true, true]);
    expect(copies).toMatch(/^ids go in, loss and gradient norm come out/);
    expect(agrees).toBe(true);
  }, 600_000);

  it("trains a run that the processor goes on with, and the other way round", async () => {
    const few = [...tiny, "--eval-every", "3"];
    const { stderr } = await place.done("train", "a.txt", ...few, "--out", "there", "--device", "webgpu");
    expect(stderr).toMatch(/^on webgpu; copied in each step: ids go in/m);
    const losses = (run: string) =>
      outcome(place.path(run)).log.map(
        (line) => (line as { loss?: number; validLoss?: number }).loss ?? (line as { validLoss: number }).validLoss,
      );
    await place.done("train", "a.txt", ...few, "--out", "here");
    for (const [i, value] of losses("there").entries()) expect(Math.abs(value - losses("here")[i])).toBeLessThan(1e-4);
    await place.done("train", "--resume", "there", "--steps", "8", "--device", "cpu");
    await place.done("train", "--resume", "here", "--steps", "8", "--device", "webgpu");
    expect([trainingOf("there").device, trainingOf("here").device]).toEqual(["cpu", "webgpu"]);
    for (const [i, value] of losses("there").entries()) expect(Math.abs(value - losses("here")[i])).toBeLessThan(1e-4);
  });

  it("writes and measures as the processor does, and refuses rounded weights by name", async () => {
    const both = async (...args: string[]) =>
      [await place.done(...args), await place.done(...args, "--device", "webgpu")].map(({ stdout }) => stdout);
    const [here, there] = await both("generate", "plain", "the", "--tokens", "5", "--temperature", "0");
    expect(there).toBe(here);
    const [expected, found] = (await both("eval", "plain", "--json")).map((text) => JSON.parse(text).loss as number);
    expect(Math.abs(found - expected)).toBeLessThan(1e-5);
    expectRefusal(
      await place.qkv("generate", "plain", "the", "--weights", "q8", "--device", "webgpu"),
      1,
      /EngineError: webgpu has no products with weights of 8 bits/,
    );
  });
});
