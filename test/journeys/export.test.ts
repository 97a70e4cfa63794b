import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { contents, expectRefusal, Workplace } from "../support/command.ts";

// qkv export, as somebody types it: what it writes, what it refuses, and that a folder is whole or not there.

const place = new Workplace();
const fixtures = join(import.meta.dirname, "../fixtures/0.1.0");
const run = (name: string) => join(fixtures, name);
const toOnnx = (name: string, out: string, ...more: string[]) => ["export", run(name), "--to", "onnx", "--out", out, ...more];

it("writes a folder, and says what is in it", async () => {
  const { stdout } = await place.done(...toOnnx("encoder", "first"));
  const files = ["onnx/model.onnx", "config.json", "tokenizer.json", "tokenizer_config.json", "README.md"];
  expect(stdout.trim().split("\n")).toEqual(
    files.map((file) => expect.stringMatching(new RegExp(` kB  first/${file.replace(".", "\\.")}$`))),
  );
  expect(Object.keys(contents(place.path("first"))).sort()).toEqual([...files].sort());
  const card = readFileSync(place.path("first/README.md"), "utf8");
  expect(card).toMatch(/^---\nlibrary_name: transformers\.js\npipeline_tag: text-classification\ntags:\n- qkv\n---\n\n# first\n/);
  expect(card).toContain("| labels | bad, good |");
  expect(card).toContain("| data | moods.tsv: 36 examples to train on, 4 to validate with |");
  expect(card).toMatch(/\| validation loss \| \d\.\d{4} at step \d+ \|/);
  expect(card).not.toContain(fixtures); // nobody's folders are published
});

it("says the same as JSON", async () => {
  const { stdout } = await place.done(...toOnnx("encoder-decoder", "json", "--weights", "q8", "--json"));
  const { files, ...rest } = JSON.parse(stdout);
  expect(rest).toEqual({ folder: "json", to: "onnx", kind: "translation", weights: "q8" });
  expect(files.map(({ name }: { name: string }) => name)).toEqual([
    "onnx/encoder_model_quantized.onnx",
    "onnx/decoder_model_merged_quantized.onnx",
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "README.md",
  ]);
});

it("never replaces what is there, unless it may and it is an export", async () => {
  await place.done(...toOnnx("decoder", "kept"));
  const before = contents(place.path("kept"));
  expectRefusal(
    await place.qkv(...toOnnx("encoder", "kept")),
    1,
    "RunError: kept is there already; choose another --out, or replace it with --overwrite\n",
  );
  expect(contents(place.path("kept"))).toEqual(before);
  writeFileSync(place.path("kept/notes.txt"), "mine");
  expectRefusal(
    await place.qkv(...toOnnx("encoder", "kept", "--overwrite")),
    1,
    "RunError: kept holds notes.txt, which is no part of the export, so --overwrite leaves it alone; choose another --out\n",
  );
  rmSync(place.path("kept/notes.txt"));
  await place.done(...toOnnx("encoder", "kept", "--overwrite"));
  expect(contents(place.path("kept"))).not.toEqual(before);
  expect(existsSync(place.path("kept/generation_config.json"))).toBe(false);
});

it("leaves runs alone, and the model itself", async () => {
  cpSync(run("decoder"), place.path("run"), { recursive: true });
  for (const name of ["checkpoints", "log.jsonl"]) rmSync(place.path("run", name), { recursive: true });
  const before = contents(place.path("run"));
  expectRefusal(
    await place.qkv(...toOnnx("decoder", "run", "--overwrite")),
    1,
    /^RunError: run holds config\.json, which is no part of the export/,
  );
  for (const out of ["run", "run/onnx"])
    expectRefusal(
      await place.qkv("export", "run", "--to", "onnx", "--out", out, "--overwrite"),
      2,
      `ConfigError: ${out} is the model's own folder, or lies in it; choose another --out\n`,
    );
  expect(contents(place.path("run"))).toEqual(before);
});

it.each<[string, string[], number, string | RegExp]>([
  ["no format", ["export", run("decoder"), "--out", "x"], 2, /required option '--to <format>' not specified/],
  ["no folder", ["export", run("decoder"), "--to", "onnx"], 2, /required option '--out <folder>' not specified/],
  [
    "another format",
    ["export", run("decoder"), "--to", "pdf", "--out", "x"],
    2,
    /argument 'pdf' is invalid\. Allowed choices are hf, onnx, gguf/,
  ],
  ["a run that is not there", ["export", "nowhere", "--to", "onnx", "--out", "x"], 1, /^RunError: nowhere is not/],
  ["patterns of an RNN", [...toOnnx("rnn", "x", "--attentions")], 2, /^ConfigError: .*has no attention patterns for each layer to put out/],
  [
    "patterns for Python",
    ["export", run("decoder"), "--to", "hf", "--out", "x", "--attentions"],
    2,
    /has no outputs for attention patterns; leave out --attentions/,
  ],
  [
    "4 bits for Python",
    ["export", run("decoder"), "--to", "hf", "--out", "x", "--weights", "q4"],
    2,
    /a hf export has no weights q4; choose --weights f32 or --weights f16/,
  ],
])("refuses %s, and leaves nothing", async (_, words, code, sentence) => {
  const result = await place.qkv(...words);
  expect(result.code, result.stderr).toBe(code);
  expect(result.stderr).toMatch(sentence);
  expect(readdirSync(place.folder).filter((name) => name.includes("x"))).toEqual([]);
});

it("leaves a whole folder or none when it is killed, and cleans up after that", async () => {
  const beside = place.path("killed");
  mkdirSync(beside);
  await place.done(...toOnnx("encoder-decoder", "killed/reference"));
  const whole = contents(join(beside, "reference"));
  rmSync(join(beside, "reference"), { recursive: true });
  let inside = 0;
  for (const wait of [0, 3, 8, 20]) {
    const running = place.start(...toOnnx("encoder-decoder", "killed/reference", "--overwrite"));
    let over = false;
    running.ended.finally(() => {
      over = true;
    });
    while (!over && !readdirSync(beside).some((name) => name === `.reference.${running.pid}.writing`)) await new Promise(setImmediate);
    await new Promise((resolve) => setTimeout(resolve, wait));
    running.signal("SIGKILL");
    if ((await running.ended).code === null) inside++;
    if (existsSync(join(beside, "reference"))) expect(contents(join(beside, "reference"))).toEqual(whole);
  }
  expect(inside).toBeGreaterThan(0); // some were killed while they wrote
  await place.done(...toOnnx("encoder-decoder", "killed/reference", "--overwrite"));
  expect(readdirSync(beside)).toEqual(["reference"]);
  expect(contents(join(beside, "reference"))).toEqual(whole);
});

describe("a small disk", () => {
  const disk = mkdtempSync(join(tmpdir(), "qkv-export-disk-"));
  const mounted = process.platform === "linux" ? spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", disk]) : undefined;
  const permitted = mounted?.status === 0;
  if (!permitted) console.log("skipped: a small disk cannot be mounted here");
  afterAll(() => {
    if (permitted) spawnSync("umount", [disk]);
    rmSync(disk, { recursive: true, force: true });
  });

  it.skipIf(!permitted)("that is full is said, and what was there stays", async () => {
    const out = join(disk, "out");
    await place.done(...toOnnx("decoder", out));
    const before = contents(disk);
    expectRefusal(
      await place.qkv(...toOnnx("encoder-decoder", out, "--overwrite")),
      1,
      `RunError: could not write the export to ${out}: the disk is full; free some space\n`,
    );
    expect(contents(disk)).toEqual(before);
    expect(readdirSync(disk)).toEqual(["out"]);
  });
});
