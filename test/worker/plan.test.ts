import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DataRead } from "../../src/runs/read-data.ts";
import type { Computer, PageTrainSettings } from "../../src/worker/computer.ts";
import type { JobEvent } from "../../src/worker/messages.ts";
import { Readings } from "../../src/worker/readings.ts";
import { moods, pairs, rhyme, words } from "../journeys/samples.ts";
import { computerHere } from "../support/worker-here.ts";

// A plan foretells a training; what is wrong with it is told with the place of the setting.

const folder = mkdtempSync(join(tmpdir(), "qkv-plan-"));
let computer: Computer;
beforeAll(async () => {
  computer = await computerHere(folder);
});
afterAll(() => {
  computer.end();
  rmSync(folder, { recursive: true, force: true });
});

const small = { width: 16, heads: 2, layers: 2 };
const usual = { steps: 3, batch: 4, threads: 1 } as const;
const given = { text: rhyme, name: "rhyme.txt" };

const setups: readonly (readonly [string, string, PageTrainSettings])[] = [
  ["rhyme.txt", rhyme, { model: { ...small, context: 24 } }],
  ["moods.tsv", moods, { model: small, tokenizer: "bpe", vocab: 270 }],
  ["words.tsv", words, { model: small }],
  ["pairs.tsv", pairs, { model: small, accumulate: 2 }],
  ["again.tsv", pairs, { model: { model: "rnn", width: 16 } }],
];

it.each(setups)("the plan for %s is what its training becomes", async (name, text, settings) => {
  const plan = await computer.plan({ text, name }, { ...settings, ...usual });
  const events: JobEvent[] = [];
  const training = computer.begin({ text, name }, { ...settings, ...usual, out: `/runs/${name}`, listen: (event) => events.push(event) });
  const trained = await training.finished;
  const ready = events.find((event) => event.kind === "ready");
  const steps = events.filter((event) => event.kind === "step");
  expect({ task: plan.task, model: plan.model, training: plan.training, labels: plan.labels }).toEqual({
    task: ready?.config.task,
    model: ready?.config.model,
    training: ready?.config.training,
    labels: ready?.config.labels,
  });
  expect([plan.parameters, plan.trained, plan.vocab]).toEqual([ready?.parameters, ready?.trained, ready?.config.model.vocab]);
  expect(plan.warnings).toEqual(events.flatMap((event) => (event.kind === "warning" ? [event.sentence] : [])));
  expect(plan.cost.parameters).toBe(plan.parameters);
  expect(plan.flops).toBeGreaterThan(6 * plan.parameters * plan.tokensPerStep); // with what has no parameters
  if (plan.task === "lm") expect(steps.map(({ tokens }) => tokens)).toEqual([1, 2, 3].map(() => plan.tokensPerStep));
  await trained.close();
});

it("the plan of an adapter beside a run, with norms by layer", async () => {
  const adapter = { from: "/runs/rhyme.txt", lora: 2, ...usual, partsEvery: 1 } as const;
  const plan = await computer.plan(given, adapter);
  const events: JobEvent[] = [];
  await (await computer.begin(given, { ...adapter, out: "/runs/adapter", listen: (event) => events.push(event) }).finished).close();
  const ready = events.find((event) => event.kind === "ready");
  expect([plan.parameters, plan.trained, plan.training]).toEqual([ready?.parameters, ready?.trained, ready?.config.training]);
  const parts = events.flatMap((event) => (event.kind === "step" ? (event.parts ?? []) : []));
  expect([...new Set(parts.map(({ name }) => name))]).toEqual(["block.0", "block.1"]);
});

describe("a setting that is wrong is told with its place", () => {
  const wrong: readonly (readonly [string, PageTrainSettings])[] = [
    ["model.heads", { model: { width: 16, heads: 3 } }],
    ["model.cell", { model: { cell: "gru" } as never }],
    ["model.model", { model: { model: "encoder" } }],
    ["model.dropout", { model: { ...small, dropout: 2 } }],
    ["steps", { steps: 0 }],
    ["lr", { lr: -1 }],
    ["optimizer", { optimizer: "adan" as never }],
    ["tokenizer", { tokenizer: "letters" }],
    ["task", { task: "classify" }],
    ["freeze", { freeze: ["decoder/nothing"] }],
    ["lora", { lora: 2 }],
    ["calibrate", { calibrate: "temperature" }],
  ];
  it.each(wrong)("%s", async (path, settings) => {
    const failure = await computer.plan(given, { ...usual, ...settings }).catch((error) => error);
    expect(failure).toMatchObject({ name: "AskError" });
    if (path !== "task") expect(failure.told.path).toBe(path);
    else expect(failure.told).toMatchObject({ path: "data", code: "data.task" }); // a text is not for that
    expect(failure.told.message).not.toBe("");
  });

  it("and data by its own", async () => {
    await expect(computer.plan([])).rejects.toMatchObject({ told: { path: "data" } });
    await expect(computer.plan({ text: "a", name: "a.txt" })).rejects.toMatchObject({ told: { path: "data" } });
  });
});

it("costs are counted without data, and refuse what cannot be counted", async () => {
  const found = await computer.cost({ preset: "gpt2", decode: 100, phases: undefined } as never);
  expect(found.parameters).toBe(124_439_808);
  expect(found.bytes).toMatchObject({ weights: 4 * found.parameters, gradients: 4 * found.parameters, optimizer: 8 * found.parameters });
  expect(found.bytes.kvCache).toBe(2 * 12 * 100 * 768 * 4);
  const layers = found.phases.training?.layers ?? [];
  expect(layers.reduce((sum, { parameters }) => sum + parameters, 0)).toBe(found.parameters);
  expect(layers.reduce((sum, { flops }) => sum + flops, 0)).toBe(found.phases.training?.flops);
  const sgd = await computer.cost({ model: small, optimizer: "sgd", batch: 3 });
  expect(sgd.bytes.optimizer).toBe(4 * sgd.parameters);
  await expect(computer.cost({ model: { width: 16, heads: 3 } })).rejects.toMatchObject({ told: { path: "model.heads" } });
  await expect(computer.cost({ length: 0 })).rejects.toMatchObject({ told: { path: "length" } });
  await expect(computer.cost({ batch: 0.5 })).rejects.toMatchObject({ told: { path: "batch" } });
});

it("the same data is read once, also when whoever asked first has left; other data ends a reading that nobody waits for", async () => {
  const readings = new Readings();
  let [begun, come] = [0, (_: DataRead) => {}];
  let ending: AbortSignal | undefined;
  const read = (signal: AbortSignal) => {
    begun++;
    ending = signal;
    return new Promise<DataRead>((resolve, reject) => {
      come = resolve;
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  };
  const other = async () => ({ encoded: { kind: "examples" } }) as unknown as DataRead;
  const [first, second] = [new AbortController(), new AbortController()];
  const use = (key: string, reading: typeof read, { signal }: AbortController) => readings.use(key, reading, signal, async () => key);
  const left = use("a", read, first);
  first.abort(new Error("left"));
  await expect(left).rejects.toThrow("left");
  const again = use("a", read, second);
  come(await other());
  expect(await again).toBe("a");
  expect([begun, await use("a", read, second), begun]).toEqual([1, "a", 1]);
  const third = new AbortController();
  const lost = use("b", read, third);
  third.abort(new Error("left"));
  await expect(lost).rejects.toThrow("left");
  expect(ending?.aborted).toBe(false);
  expect(await use("c", other, second)).toBe("c");
  expect([ending?.aborted, begun]).toEqual([true, 2]);
  expect([await use("a", read, second), begun]).toEqual(["a", 2]); // it was kept beside
});

it("the plan for minutes has sizes of the rule and steps that are guessed; its training finds out", async () => {
  const timed = { minutes: 0.05, threads: 1, model: { layers: 1 } } as const;
  const plan = await computer.plan(given, timed);
  expect(plan.training).toMatchObject({ minutes: 0.05 });
  expect(plan.model).toMatchObject({ layers: 1 });
  expect(plan.training.steps).toBeGreaterThanOrEqual(1);
  await expect(computer.plan(given, { ...timed, steps: 3 })).rejects.toMatchObject({ told: { path: "minutes" } });
  const events: JobEvent[] = [];
  const training = computer.begin(given, { ...timed, out: "/runs/timed", listen: (event) => events.push(event) });
  await (await training.finished).close();
  const chosen = events.find((event) => event.kind === "chosen");
  const ready = events.find((event) => event.kind === "ready");
  expect(chosen?.steps).toBe(ready?.config.training.steps);
  expect(ready?.config.training.minutes).toBe(0.05);
});
