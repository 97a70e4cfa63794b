import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { train } from "../../src/library/train.ts";
import { open } from "../../src/library/trained.ts";
import { lockRun } from "../../src/runs/folder.ts";
import type { Computer } from "../../src/worker/computer.ts";
import type { JobEvent } from "../../src/worker/messages.ts";
import { decoded, encoded } from "../../src/worker/wire.ts";
import { moods, rhyme } from "../journeys/samples.ts";
import { outcome, Workplace } from "../support/command.ts";
import { hubModel } from "../support/serve.ts";
import { Studio, within } from "../support/studio.ts";

// What is computed in a studio is what the library computes; a training belongs to the studio, and nothing that ends loses any of it.

const place = new Workplace();
const folder = place.path("runs");
const model = { width: 16, heads: 2, layers: 2, context: 24 };
const settings = { model, steps: 30, batch: 4, evalEvery: 10, saveEvery: 10, threads: 1, seed: 3, warn: false } as const;
const { warn: _, ...sent } = settings;
let studio: Studio;
let page: Computer;

beforeAll(async () => {
  mkdirSync(folder);
  studio = await Studio.start(folder);
  page = await studio.page();
});

afterAll(async () => {
  await studio?.kill();
});

/** A training that takes long enough for somebody to come and go, and is saved seldom. */
const long = { ...sent, steps: 4000, evalEvery: 4000, saveEvery: 4000, validFraction: 0.1 };

const stepsOf = async (events: AsyncIterable<JobEvent>, until: number): Promise<void> => {
  for await (const event of events) if (event.kind === "step" && event.step >= until) return;
};

describe("a studio", () => {
  it("trains what the library trains, bit for bit", async () => {
    const file = place.write("rhyme.txt", rhyme);
    const expected = place.path("library");
    await (await train(file, { ...settings, out: expected })).release();
    const events: string[] = [];
    const run = await page.train(
      { text: rhyme, name: "rhyme.txt" },
      { ...sent, out: "/runs/same", listen: ({ kind }) => void events.push(kind) },
    );
    expect(run.run).toBe("/runs/same");
    expect(run.result?.run).toBe("/runs/same");
    expect(events).toContain("ready");
    expect(outcome(join(folder, "same"))).toEqual(outcome(expected));
    await run.close();
  });

  it("answers as the library does", async () => {
    const [here, there] = [open(join(folder, "same"), { warn: false }), await page.open({ run: "/runs/same" })];
    const samples = await here.samples(["the cat", "a"], { tokens: 12, seed: 5, samples: 2 });
    expect((await there.samples(["the cat", "a"], { tokens: 12, seed: 5, samples: 2 })).map((all) => all.map(({ text }) => text))).toEqual(
      samples.map((all) => all.map(({ text }) => text)),
    );
    const { activations } = await here.look("the cat sat", ["*pattern*"]);
    const taps = await there.taps("the cat sat", ["*pattern*"]);
    expect([...taps.activations.keys()]).toEqual([...activations.keys()]);
    for (const [name, { data, shape }] of activations) {
      expect(taps.activations.get(name)?.shape).toEqual(shape);
      expect(taps.activations.get(name)?.data).toEqual(data);
    }
    expect(await there.evaluate([{ text: rhyme, name: "other.txt" }])).toEqual(
      await here.evaluate(place.path("rhyme.txt"), { cache: place.path("cache") }),
    );
    expect((await page.log({ run: "/runs/same" })).at(-1)).toMatchObject({ step: 30 });
    await here.release();
    await there.close();
  });

  it("takes files and gives them", async () => {
    const run = await page.train(new File([moods], "moods.tsv"), { ...sent, steps: 6, out: "/runs/moods" });
    expect((await run.classify(["good"]))[0].label).toEqual(expect.any(String));
    const files = await run.files();
    for (const file of files) expect(await file.text()).toBe(readFileSync(join(folder, "moods", file.name), "utf8"));
    const again = await page.open(files);
    expect(again.run).toMatch(/^\/models\//);
    expect(await again.classify(["good"])).toEqual(await run.classify(["good"]));
    await page.remove(again);
    await Promise.all([run.close(), again.close()]);
  });

  it("says of what is too large that it is, and goes on", async () => {
    const large = new File([new Uint8Array(2 ** 28)], "large.txt");
    await expect(page.begin(large, sent).finished).rejects.toThrow("more than 256 MB");
    writeFileSync(join(folder, "large.gguf"), "");
    truncateSync(join(folder, "large.gguf"), 501e6); // a hole, which takes no place
    const socket = studio.socket();
    await new Promise((resolve) => socket.once("open", resolve));
    socket.send(encoded({ job: 1, work: { kind: "files", run: "/runs/large.gguf" } }));
    expect(decoded(String(await new Promise((resolve) => socket.once("message", resolve))))).toMatchObject({
      error: { message: expect.stringContaining("501 MB") },
    });
    socket.close();
    rmSync(join(folder, "large.gguf"));
    expect(page.over).toBeUndefined();
    expect(await page.trainings()).toEqual([]);
  });

  it("knows what lies beside the runs: folders of Hugging Face, .gguf files and runs of the command line", async () => {
    cpSync(hubModel("llama"), join(folder, "llama"), { recursive: true });
    await place.done("export", "runs/llama", "--to", "gguf", "--weights", "f32", "--out", "exported");
    cpSync(place.path("exported/model.gguf"), join(folder, "llama.gguf"));
    cpSync(place.path("exported/model.gguf"), join(folder, "damaged.gguf"));
    truncateSync(join(folder, "damaged.gguf"), 100);
    place.write("runs/notes.txt", "nothing of ours");
    await place.done(
      "train",
      "rhyme.txt",
      ..."--layers 1 --heads 1 --width 16 --context 16 --batch 4 --steps 6 --threads 1 --quiet --out".split(" "),
      "runs/typed",
    );
    const found = await page.runs();
    expect(found.map(({ run }) => run).sort()).toEqual(["/runs/llama", "/runs/llama.gguf", "/runs/moods", "/runs/same", "/runs/typed"]);
    expect(found.find(({ run }) => run === "/runs/llama")).toMatchObject({ opens: true, task: "lm", steps: 0 });
    const run = await page.open({ run: "/runs/llama" });
    const other = await page.open({ run: "/runs/llama.gguf" });
    const written = (model: typeof run) => model.samples([[1, 2, 3]], { tokens: 6, seed: 2 });
    expect(await written(other)).toEqual(await written(run));
    await other.close();
    await expect(page.remove(run)).rejects.toThrow("not a run");
    await run.close();
  });

  it("goes on training when the page has gone; another follows it, and pauses and stops it", async () => {
    const other = await Studio.prototype.page.call(studio);
    const training = page.begin({ text: rhyme, name: "rhyme.txt" }, { ...long, out: "/runs/long" });
    await stepsOf(training, 3);
    studio.leave();
    await expect(training.finished).rejects.toThrow("connection");
    expect(other.over).toBeDefined();
    page = await studio.page();
    const [facts] = await page.trainings();
    expect(facts).toMatchObject({ run: "/runs/long", state: "training", steps: 4000 });
    expect((await page.runs()).find(({ run }) => run === "/runs/long")).toMatchObject({ training: "training" });
    const followed = page.follow({ run: "/runs/long" });
    const kinds: string[] = [];
    for await (const event of followed) {
      kinds.push(event.kind);
      if (event.kind === "step" && event.step > facts.step) break;
    }
    expect(kinds[0]).toBe("ready");
    followed.pause();
    expect(await within(5000, async () => (await page.trainings())[0].state === "paused")).toBe(true);
    const [{ step }] = await page.trainings();
    expect(JSON.parse(readFileSync(join(folder, ".studio/trainings.json"), "utf8")).runs).toEqual([]);
    followed.go();
    expect(await within(5000, async () => (await page.trainings())[0].step > step)).toBe(true);
    await expect(page.remove({ run: "/runs/long" })).rejects.toThrow(/training/);
    await followed.stop();
    expect(await page.trainings()).toEqual([]);
    expect(JSON.parse(readFileSync(join(folder, ".studio/trainings.json"), "utf8")).runs).toEqual([]);
    await expect(page.follow({ run: "/runs/same-not" }).finished).rejects.toThrow("nobody trains");
  });

  it("knows whether a training rests, however fast somebody pauses it and lets it go on; what is being stopped is not to go on", async () => {
    const noted = () => JSON.parse(readFileSync(join(folder, ".studio/trainings.json"), "utf8")).runs;
    const training = page.begin({ text: rhyme, name: "rhyme.txt" }, { ...long, out: "/runs/restless" });
    await stepsOf(training, 1);
    for (let i = 0; i < 30; i++) {
      training.pause();
      await new Promise((resolve) => setTimeout(resolve, i % 7));
      training.go();
    }
    const [{ step }] = await page.trainings();
    expect(await within(5000, async () => (await page.trainings())[0].step > step + 5)).toBe(true);
    expect((await page.trainings())[0].state).toBe("training");
    expect(noted()).toEqual(["/runs/restless"]);
    const stopped = training.stop();
    await page.runs(); // the studio has heard of it, and may be killed while the training is saved
    expect(noted()).toEqual([]);
    await stopped;
  });

  it("answers again when the process that answers was killed, and tells whoever waited", async () => {
    const run = await page.open({ run: "/runs/same" });
    const [reader] = studio.children;
    const waiting = run.samples(["the"], { tokens: 100_000, samples: 64 });
    process.kill(reader, "SIGKILL");
    await expect(waiting).rejects.toThrow("was ended by SIGKILL");
    await expect(run.samples(["the"])).rejects.toThrow("was closed");
    const again = await page.open({ run: "/runs/same" });
    expect(await again.samples(["the"], { tokens: 3 })).toHaveLength(1);
  });

  it("tells whoever watches when a process that trains was killed; the run can go on", async () => {
    const before = studio.children;
    const training = page.begin({ text: rhyme, name: "rhyme.txt" }, { ...long, out: "/runs/killed", saveEvery: 5 });
    for await (const event of training) if (event.kind === "saved") break;
    const [trainer] = studio.children.filter((pid) => !before.includes(pid));
    process.kill(trainer, "SIGKILL");
    await expect(training.finished).rejects.toThrow("was ended by SIGKILL");
    expect(await page.trainings()).toEqual([]);
    expect((await page.checkpoints({ run: "/runs/killed" })).length).toBeGreaterThan(0);
  });
});

describe("a studio that is ended in the middle of a training", () => {
  const steps = { steps: 400, evalEvery: 100, saveEvery: 100, keep: 1 };

  const expected = place.path("whole");

  beforeAll(async () => {
    await (await train(place.write("rhyme.txt", rhyme), { ...settings, ...steps, out: expected })).release();
  });

  it.each(["kill", "stop"] as const)("by a %s goes on with it when it starts again, to the same weights", async (how) => {
    const run = `/runs/${how}`;
    let connected = 0;
    const first = await studio.page(() => connected++);
    const rests = first.begin({ text: rhyme, name: "rhyme.txt" }, { ...long, out: `/runs/rests-${how}` });
    const training = first.begin({ text: rhyme, name: "rhyme.txt" }, { ...sent, ...steps, out: run });
    await stepsOf(rests, 1);
    rests.pause();
    for await (const { kind } of rests) if (kind === "paused") break;
    await stepsOf(training, 120);
    if (how === "kill") await studio.kill();
    else expect(await studio.stop()).toBe(0);
    if (how === "stop") expect(studio.said).toContain("when the studio starts again");
    await expect(training.finished).rejects.toThrow("studio");
    const { token, port } = studio;
    studio = await Studio.start(folder, { port });
    expect(studio.token).toBe(token);
    expect(await within(10_000, () => connected === 2)).toBe(true); // the page came back by itself
    page = await studio.page();
    expect((await page.trainings()).map((one) => one.run)).toEqual([run]); // and not the one that a person paused
    expect((await page.follow({ run }).finished).run).toBe(run);
    expect(outcome(join(folder, how))).toEqual(outcome(expected));
    expect(JSON.parse(readFileSync(join(folder, ".studio/trainings.json"), "utf8")).runs).toEqual([]);
  });

  it("goes on as soon as nobody else trains there; whoever follows it waits for that, or stops it", async () => {
    const unlock = lockRun(join(folder, "rests-kill"));
    await studio.kill();
    writeFileSync(join(folder, ".studio/trainings.json"), '{"format":1,"runs":["/runs/rests-kill"]}');
    studio = await Studio.start(folder);
    page = await studio.page();
    const [facts] = await page.trainings();
    expect(facts).toMatchObject({ run: "/runs/rests-kill", state: "training" });
    const kinds: string[] = [];
    const followed = page.follow({ run: "/runs/rests-kill" }, { listen: ({ kind }) => void kinds.push(kind) });
    await new Promise((resolve) => setTimeout(resolve, 1500)); // it was tried meanwhile
    expect(kinds).toEqual([]);
    unlock();
    await stepsOf(followed, facts.step + 1);
    expect(kinds.filter((kind) => kind === "ready")).toHaveLength(1);
    await followed.stop();
    const again = lockRun(join(folder, "rests-kill"));
    await studio.kill();
    writeFileSync(join(folder, ".studio/trainings.json"), '{"format":1,"runs":["/runs/rests-kill"]}');
    studio = await Studio.start(folder);
    page = await studio.page();
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const waiting = page.follow({ run: "/runs/rests-kill" });
    await waiting.stop();
    again();
    expect(await page.trainings()).toEqual([]);
  });

  it("has its folder alone", async () => {
    await expect(Studio.start(folder)).rejects.toThrow(/another studio \(process \d+\) has .* open/);
    writeFileSync(join(folder, ".studio/trainings.json"), '{"format":1,"runs":["/runs/../x","/runs/none","/etc"]}');
    await studio.kill();
    studio = await Studio.start(folder);
    expect(await (await studio.page()).trainings()).toEqual([]);
  });

  it("keeps the data of its runs when another is removed, by whatever way its folder is reached", async () => {
    mkdirSync(place.path("reached"));
    symlinkSync(place.path("reached"), place.path("alias"));
    const few = { ...sent, steps: 4 };
    const first = await Studio.start(place.path("reached"));
    await (await (await first.page()).train(new File([moods], "moods.tsv"), { ...few, out: "/runs/first" })).close();
    await first.stop();
    const second = await Studio.start(place.path("alias"));
    const there = await second.page();
    const run = await there.train({ text: rhyme, name: "rhyme.txt" }, { ...few, out: "/runs/second" });
    await run.close();
    await there.remove(run);
    expect((await there.examples({ run: "/runs/first" })).rows.length).toBeGreaterThan(0);
    await second.stop();
  });
});
