import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import type { PredictFileEvent } from "../../src/library/predict-file.ts";
import { open } from "../../src/library/trained.ts";
import { parseRows } from "../../src/text/rows.ts";
import { expectRefusal, tiny, Workplace } from "../support/command.ts";
import { pairs, rhyme, sentences, words } from "./samples.ts";

// Files in, files out, by the real commands: what is added, what stays, and what happens when it is stopped in the middle.

const place = new Workplace();
const learns = "--layers 1 --heads 2 --width 32 --batch 16 --steps 60 --lr 0.01 --threads 1 --quiet".split(" ");
const read = (name: string): string => readFileSync(place.path(name), "utf8");
const rowsIn = (name: string, format: "csv" | "tsv" | "jsonl" = "csv") =>
  [...parseRows(read(name), format, name).rows].map(({ fields }) => Object.fromEntries(fields));
const field = (text: string): string => `"${text.replaceAll('"', '""')}"`;
const table = (rows: readonly (readonly string[])[]): string => rows.map((row) => `${row.map(field).join(",")}\r\n`).join("");

const bodies = sentences.filter((_, i) => i % 3 === 0).map(({ text }) => text);
/** Tickets of any number: their texts have many lengths, and their notes all that a field may hold. */
const tickets = (count: number): string =>
  table([
    ["id", "Body", "note"],
    ...Array.from({ length: count }, (_, i) => [
      `${i}`,
      `${bodies[(i * 7) % bodies.length]}${" today".repeat(i % 5)}`,
      `"quoted", and\r\ntwo lines ${i}`,
    ]),
  ]);

beforeAll(async () => {
  place.write("moods.csv", table([["Body", "Mood"], ...sentences.map(({ text, label }) => [text, label])]));
  place.write("words.tsv", words);
  place.write("pairs.tsv", pairs);
  place.write("rhyme.txt", rhyme);
  await place.done("train", "moods.csv", "--text-column", "Body", "--label-column", "Mood", ...learns, "--out", "moods");
  for (const name of ["words.tsv", "pairs.tsv", "rhyme.txt"])
    await place.done("train", name, ...tiny, "--quiet", "--out", name.replace(/\..*/, ""));
  place.write("tickets.csv", `\uFEFF${tickets(50)}`);
}, 240_000);

describe("qkv classify --in … --out …", () => {
  it("keeps what was there and adds what classify says, in the column that the run knows", async () => {
    const { stdout, stderr } = await place.done("classify", "moods", "--in", "tickets.csv", "--out", "plain.csv", "--json");
    const summary = JSON.parse(stdout);
    expect(stdout).toMatch(/^\{.*\}\n$/);
    expect(summary).toMatchObject({ rows: 50, begun: 0, empty: 0, cut: expect.any(Number), out: "plain.csv", seconds: expect.any(Number) });
    const { context } = open(place.path("moods")).model;
    expect(stderr).toBe(
      summary.cut > 0 ? `warning: ${summary.cut} of 50 rows are longer than the context of ${context} tokens and are cut\n` : "",
    );
    const [before, after] = [rowsIn("tickets.csv"), rowsIn("plain.csv")];
    expect(Object.keys(after[0])).toEqual(["id", "Body", "note", "label", "probability"]);
    expect(after.map(({ id, Body, note }) => ({ id, Body, note }))).toEqual(before);
    const said = JSON.parse((await place.done("classify", "moods", ...before.map(({ Body }) => `${Body}`), "--json")).stdout).results;
    for (const [i, { label, probabilities }] of said.entries()) {
      expect(after[i].label).toBe(label);
      expect(Number(after[i].probability)).toBeCloseTo(probabilities[label], 4);
    }
    expect(read("plain.csv")).not.toContain("\r");
    expect(existsSync(place.path("plain.csv.part")) || existsSync(place.path("plain.csv.part.json"))).toBe(false);
  });

  it("gives every class a column, or an object in .jsonl", async () => {
    await place.done("classify", "moods", "--in", "tickets.csv", "--out", "all.csv", "--probabilities");
    const [row] = rowsIn("all.csv");
    expect(Object.keys(row).slice(3)).toEqual(["label", "probability", "probability_happy", "probability_sad"]);
    expect(Number(row.probability_happy) + Number(row.probability_sad)).toBeCloseTo(1, 4);
    await place.done("classify", "moods", "--in", "tickets.csv", "--out", "all.jsonl", "--probabilities");
    const [line] = rowsIn("all.jsonl", "jsonl");
    expect(line).toMatchObject({ id: "0", label: row.label, probability: Number(row.probability) });
    expect(Object.keys(line.probabilities as object)).toEqual(["happy", "sad"]);
  });

  it("keeps the fields of .jsonl to the letter, and answers nothing with nothing", async () => {
    const lines = [
      '{"id": 12345678901234567890, "2": 1.0, "1": [true, null], "text": "my aunt was merry"}',
      '{ "text": "  ", "é": "\\u00e9" }',
      '{"text":null}',
      '{"text": 17, "deep": {"a": [1]}}  ',
    ];
    place.write("odd.jsonl", `${lines.join("\n")}\n`);
    const { stderr } = await place.done("classify", "moods", "--in", "odd.jsonl", "--out", "odd-out.jsonl");
    expect(stderr).toMatch(/^warning: 2 of 4 rows have nothing in them that the model could read, so their answers are empty$/m);
    const out = read("odd-out.jsonl").trimEnd().split("\n");
    expect(out[0]).toMatch(
      /^\{"id": 12345678901234567890, "2": 1\.0, "1": \[true, null\], "text": "my aunt was merry","label":"happy","probability":0\.\d+\}$/,
    );
    expect(out[1]).toBe('{ "text": "  ", "é": "\\u00e9","label":null,"probability":null}');
    expect(out[2]).toBe('{"text":null,"label":null,"probability":null}');
    expect(out[3]).toMatch(/^\{"text": 17, "deep": \{"a": \[1\]\},"label":"(happy|sad)","probability":0\.\d+\}$/);
    await place.done("classify", "moods", "--in", "odd.jsonl", "--out", "odd.csv"); // all columns that any row has
    expect(read("odd.csv").split("\n")[0]).toBe("2,1,id,text,é,deep,label,probability".replace("2,1,id", "1,2,id"));
    expect(read("odd.csv").split("\n")[2]).toBe(",,,  ,é,,,");
  });

  it("takes other names for what is added, where they are taken", async () => {
    place.write("labelled.csv", "text,label\nmy aunt was merry,sad\n");
    const args = ["classify", "moods", "--in", "labelled.csv", "--out", "labelled-out.csv"];
    expectRefusal(
      await place.qkv(...args),
      2,
      /labelled\.csv has a column "label" already; put something before the names of those that are added, such as --prefix predicted_$/m,
    );
    await place.done(...args, "--prefix", "predicted_");
    expect(read("labelled-out.csv")).toMatch(/^text,label,predicted_label,predicted_probability\nmy aunt was merry,sad,happy,0\.\d+\n$/);
  });
});

describe("the other tasks", () => {
  it("tags: as training reads them, with their tokens in .jsonl", async () => {
    place.write("untagged.csv", "n,text\n1,the dog 3 barks\n");
    await place.done("tag", "words", "--in", "untagged.csv", "--out", "tagged.csv");
    expect(read("tagged.csv")).toMatch(/^n,text,tags\n1,the dog 3 barks,[DNMV]( [DNMV]){3}\n$/);
    await place.done("tag", "words", "--in", "untagged.csv", "--out", "tagged.jsonl");
    expect(rowsIn("tagged.jsonl", "jsonl")[0]).toMatchObject({ n: "1", tokens: ["the", "dog", "3", "barks"], tags: expect.any(Array) });
  });

  it("translates, with one column alone too", async () => {
    place.write("sources.tsv", "source\nnumber 3\nnumber 30\n");
    await place.done("translate", "pairs", "--in", "sources.tsv", "--out", "targets.jsonl");
    const said = JSON.parse((await place.done("translate", "pairs", "number 3", "number 30", "--json")).stdout).results;
    expect(rowsIn("targets.jsonl", "jsonl").map(({ source, target }) => ({ source, target }))).toEqual(
      said.map(({ source, target }: Record<string, string>) => ({ source, target })),
    );
    expect(rowsIn("targets.jsonl", "jsonl")[0].logProbability).toBeLessThan(0);
  });

  it("writes: one completion a row, whose line ends .tsv spells out", async () => {
    place.write("prompts.jsonl", '{"prompt": "the cat"}\n{"prompt": ""}\n');
    const flags = ["--tokens", "60", "--temperature", "0"];
    const [newline] = open(place.path("rhyme")).tokenizer.encode("\n");
    await place.done("generate", "rhyme", "--in", "prompts.jsonl", "--out", "written.jsonl", ...flags);
    const said = JSON.parse((await place.done("generate", "rhyme", "the cat", ...flags, "--json")).stdout);
    const [first, empty] = rowsIn("written.jsonl", "jsonl");
    expect(first).toMatchObject({ prompt: "the cat", completion: said.samples[0].text, finish: "length" });
    expect(`${empty.completion}`).toHaveLength(60);
    await place.done("generate", "rhyme", "--in", "prompts.jsonl", "--out", "written.tsv", ...flags, "--bias", `${newline}=100`); // the newline, again and again
    expect(rowsIn("written.tsv", "tsv")[0].completion).toBe("\\n".repeat(60));
    expectRefusal(
      await place.qkv("generate", "rhyme", "--in", "prompts.jsonl", "--out", "x.csv", "--samples", "2"),
      2,
      /--samples is for prompts on the command line/,
    );
  });
});

describe("what is wrong is said before anything is computed", () => {
  const lineEnd = /tickets\.csv, line 2: the column "note" holds a line end, which \.tsv has no way to write; write a \.csv or a \.jsonl$/m;
  it.each<[string, string | Uint8Array | undefined, string[], number, RegExp]>([
    [
      "no such column",
      "a,b\n1,2\n",
      [],
      1,
      /bad\.csv, line 1: no column "Body" \(found "a", "b"\); name the one with the text by --column$/m,
    ],
    ["a misspelt column", "Body,b\n1,2\n", ["--column", "Bodi"], 1, /no column "Bodi" \(found "Body", "b"; did you mean "Body"\?\)/],
    ["a row with too few cells", "Body,b\nx,2\n3\n", [], 1, /bad\.csv, line 3: found 1 field, wanted 2/],
    [
      "bytes that are no UTF-8",
      Uint8Array.of(0x42, 0x6f, 0x64, 0x79, 0x0a, 0x61, 0x0a, 0xff),
      [],
      1,
      /bad\.csv, line 3, byte 7: invalid UTF-8/,
    ],
    ["a file that is not there", undefined, ["--in", "ticket.csv"], 1, /ticket\.csv: no such file; did you mean "tickets\.csv"\?$/m],
    ["a file of another kind", undefined, ["--in", "rhyme.txt"], 1, /rhyme\.txt: the ending \.txt; rows are read from a \.csv/],
    [
      "a result of another kind",
      undefined,
      ["--in", "tickets.csv", "--out", "a.xlsx"],
      2,
      /a\.xlsx: rows are written as \.csv, \.tsv or \.jsonl/,
    ],
    ["a line end for .tsv", undefined, ["--in", "tickets.csv", "--out", "a.tsv"], 1, lineEnd],
    [
      "the same file twice",
      undefined,
      ["--in", "tickets.csv", "--out", "tickets.csv", "--overwrite"],
      2,
      /tickets\.csv is what is read; choose another --out$/m,
    ],
    ["a folder", undefined, ["--in", "folder.csv"], 1, /folder\.csv: this is no plain file/],
  ])("%s", async (_, content, args, code, sentence) => {
    if (content !== undefined) place.write("bad.csv", content);
    mkdirSync(place.path("folder.csv"), { recursive: true });
    expectRefusal(await place.qkv("classify", "moods", "--in", "bad.csv", "--out", "never.csv", ...args), code, sentence);
    expect(existsSync(place.path("never.csv.part"))).toBe(false);
  });

  it("of flags that make no sense", async () => {
    expectRefusal(await place.qkv("classify", "moods", "--in", "tickets.csv"), 2, /name the one to write with --out/);
    expectRefusal(await place.qkv("classify", "moods", "--column", "Body", "fine"), 2, /--column goes with --in/);
    expectRefusal(
      await place.qkv("classify", "moods", "fine", "--in", "tickets.csv", "--out", "x.csv"),
      2,
      /either texts or --in, not both/,
    );
    expectRefusal(
      await place.qkv("tag", "moods", "--in", "tickets.csv", "--out", "x.csv"),
      2,
      /this run classifies; use qkv classify moods/,
    );
  });

  it("asks about a text that is a file", async () => {
    expectRefusal(
      await place.qkv("classify", "moods", "tickets.csv"),
      2,
      /"tickets\.csv" is a file; did you mean --in tickets\.csv --out predictions\.csv\? To have the name itself taken as a text, add --text$/m,
    );
    expectRefusal(await place.qkv("generate", "rhyme", "./rhyme.txt"), 2, /did you mean … < \.\/rhyme\.txt, for its lines\?/);
    expect(JSON.parse((await place.done("classify", "moods", "tickets.csv", "--text", "--json")).stdout).results[0].text).toBe(
      "tickets.csv",
    );
    await place.done("classify", "moods", "nofile.csv", "moods"); // a folder is no file, nor is what is not there
  });
});

describe("stopped in the middle", () => {
  const args = ["classify", "moods", "--in", "many.csv", "--out", "many-out.csv"];
  let whole = "";

  const rowsSaved = (): number => (existsSync(place.path("many-out.csv.part.json")) ? JSON.parse(read("many-out.csv.part.json")).rows : 0);

  /** Waits until more rows are saved than were before. */
  async function saved(before: number, ended: Promise<unknown>): Promise<number> {
    let over = false;
    ended.then(() => {
      over = true;
    });
    while (rowsSaved() <= before && !over) await new Promise((resolve) => setTimeout(resolve, 5));
    return rowsSaved();
  }

  beforeAll(async () => {
    place.write("many.csv", tickets(20_000));
    await place.done("classify", "moods", "--in", "many.csv", "--out", "whole.csv");
    whole = read("whole.csv");
  }, 120_000);

  it("by kill -9 again and again, the same command makes the same bytes", async () => {
    let rows = 0;
    for (let kill = 0; kill < 2; kill++) {
      const running = place.start(...args);
      rows = await saved(rows, running.ended);
      await new Promise((resolve) => setTimeout(resolve, 40 * kill));
      running.signal("SIGKILL");
      expect((await running.ended).code).toBeNull();
      expect(existsSync(place.path("many-out.csv"))).toBe(false);
    }
    rows = rowsSaved();
    expect(rows).toBeGreaterThan(0);
    const { stderr, stdout } = await place.done(...args, "--json");
    expect(stderr).toContain(`going on at row ${(rows + 1).toLocaleString("en")} of 20,000`);
    expect(JSON.parse(stdout)).toMatchObject({ rows: 20_000, begun: rows });
    expect(read("many-out.csv") === whole).toBe(true);
  }, 120_000);

  it("is not gone on with by other work, unless it may be thrown away", async () => {
    expectRefusal(await place.qkv(...args), 1, /many-out\.csv is there already; choose another --out, or replace it with --overwrite$/m);
    rmSync(place.path("many-out.csv"));
    const running = place.start(...args);
    await saved(0, running.ended);
    running.signal("SIGINT");
    const { code, stderr } = await running.ended;
    expect([code, stderr]).toEqual([
      130,
      expect.stringMatching(/^stopped after [\d,]+ of 20,000 rows; the same command goes on from there\n$/),
    ]);
    const state = read("many-out.csv.part.json");
    place.write("many-out.csv.part.json", JSON.stringify({ ...JSON.parse(state), process: process.pid })); // one that lives
    expectRefusal(await place.qkv(...args), 1, /process \d+ is writing many-out\.csv\.part at this moment; wait for it or stop it/);
    place.write("many-out.csv.part.json", state);
    expectRefusal(
      await place.qkv(...args, "--column", "note"),
      1,
      /many-out\.csv\.part holds \d+ rows that were made with another column of texts; finish it with the same input and settings as before, choose another --out, or begin again with --overwrite$/m,
    );
    const input = read("many.csv");
    writeFileSync(place.path("many.csv"), input.replace('"0"', '"zero"'));
    expectRefusal(await place.qkv(...args), 1, /that were made with rows that have changed since/);
    writeFileSync(place.path("many.csv"), input.slice(0, input.lastIndexOf('"19999"'))); // what comes later may change
    await place.done(...args);
    expect(whole.startsWith(read("many-out.csv"))).toBe(true);
    writeFileSync(place.path("many.csv"), input);
    await place.done(...args, "--overwrite");
    expect(read("many-out.csv") === whole).toBe(true);
  }, 120_000);

  it("by a signal, in a program, which goes on by the same call", async () => {
    const run = open(place.path("moods"));
    const [from, to] = [place.path("many.csv"), place.path("program.csv")];
    const stop = new AbortController();
    const events: PredictFileEvent[] = [];
    const listen = (event: PredictFileEvent) => {
      events.push(event);
      if (event.done > 5000) stop.abort();
    };
    await expect(run.predictFile(from, to, { signal: stop.signal, listen, warn: () => {} })).rejects.toThrow(/abort/);
    const { done } = events[events.length - 1];
    expect(done).toBeLessThan(7000);
    const result = await run.predictFile(from, to, { warn: () => {} });
    expect(result).toMatchObject({ rows: 20_000, begun: done, out: to });
    expect(readFileSync(to, "utf8") === whole).toBe(true);
    await run.release();
  }, 60_000);
});

it("a file much larger than the memory goes through", async () => {
  const note = '"long", and\n'.repeat(4000); // 48 kB
  const rows = Array.from({ length: 1500 }, (_, i) => [bodies[i % bodies.length], note]);
  place.write("large.csv", table([["Body", "note"], ...rows]));
  process.env.NODE_OPTIONS = "--max-old-space-size=64";
  try {
    const { stdout } = await place.done("classify", "moods", "--in", "large.csv", "--out", "large-out.csv", "--json");
    expect(JSON.parse(stdout).rows).toBe(1500);
  } finally {
    delete process.env.NODE_OPTIONS;
  }
  rmSync(place.path("large.csv"));
}, 120_000);

describe("lines of standard input", () => {
  it("that are blank have empty rows, and do not end the batch", async () => {
    const { code, stdout } = await place.fed("my aunt was merry\n\n  \nthe old king was tearful\n\n", "classify", "moods");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^happy .*\n\n\nsad .*\n\n$/);
    const { results } = JSON.parse((await place.fed("\nmy aunt was merry\n", "classify", "moods", "--json")).stdout);
    expect(results).toEqual([{ text: "", label: null, probabilities: {} }, expect.objectContaining({ label: "happy" })]);
    const tagged = JSON.parse((await place.fed("the dog\n\n", "tag", "words", "--json")).stdout).results;
    expect(tagged).toEqual([expect.objectContaining({ tokens: ["the", "dog"] }), { text: "", tokens: [], tags: [] }]);
    const translated = JSON.parse((await place.fed("\nnumber 3\n", "translate", "pairs", "--json")).stdout).results;
    expect(translated).toEqual([{ source: "", target: "", logProbability: null }, expect.objectContaining({ source: "number 3" })]);
    expect((await place.fed("\nnumber 3\n", "translate", "pairs")).stdout).toBe(`\n${translated[1].target}\n`);
  });

  it("are prompts of generate, as arguments are", async () => {
    const flags = ["--tokens", "12", "--seed", "3", "--temperature", "3"]; // hot, for the model knows its rhyme by heart
    const one = JSON.parse((await place.done("generate", "rhyme", "the cat", ...flags, "--json")).stdout);
    expect(JSON.parse((await place.fed("the cat\n", "generate", "rhyme", ...flags, "--json")).stdout)).toEqual({ ...one, results: [one] });
    const empty = JSON.parse((await place.done("generate", "rhyme", ...flags, "--json")).stdout);
    expect(Object.keys(empty)).toEqual(["prompt", "samples"]); // nothing came: a text from its beginning
    const { results } = JSON.parse((await place.fed("the cat\n\n", "generate", "rhyme", ...flags, "--json")).stdout);
    expect(results).toEqual([one, { prompt: "", samples: [expect.objectContaining({ finish: "length" })] }]);
    const { stdout } = await place.fed("the cat\nthe cat", "generate", "rhyme", ...flags);
    const [first, second] = stdout.split("\n\n");
    expect(first).toBe(`the cat${one.samples[0].text}`);
    expect(second).toMatch(/^the cat.{12}\n$/s);
    expect(second).not.toBe(`${first}\n`); // equal lines are different draws
    const answered = JSON.parse((await place.fed("number 3\n\n", "generate", "pairs", ...flags, "--json")).stdout).results;
    expect(answered).toEqual([expect.objectContaining({ prompt: "number 3" }), { prompt: "", samples: [] }]);
  });
});
