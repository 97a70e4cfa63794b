import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Running, Workplace } from "../support/command.ts";

// What `npm start` shows, with a model that is trained for a moment.

const place = new Workplace();
const start = join(import.meta.dirname, "../../dist/cli/start.js");
const brief = "--steps 4 --eval-every 4 --layers 2 --heads 2 --width 16 --context 32 --threads 1".split(" ");

it("npm start trains, measures, writes, and ends with the picture of what it trained", async () => {
  const env = { ...process.env, XDG_CACHE_HOME: place.path(".cache"), NO_COLOR: "1" };
  const { code, stdout, stderr } = await new Running(spawn(process.execPath, [start, ...brief], { cwd: place.folder, env }), "").ended;
  expect(code, stderr).toBe(0);
  const commands = [...stdout.matchAll(/^\$ npx qkv (\w+)/gm)].map(([, name]) => name);
  expect(commands).toEqual(["train", "eval", "info", "generate", "look", "look", "look"]);
  const shown = Object.fromEntries(stdout.split("$ npx qkv ").map((part) => [part.split(" ")[0], part]));
  expect(shown.eval).toMatch(/^perplexity +\d+\.\d/m);
  expect(shown.generate).toMatch(/\n\nCall me Ishmael\..{2}/s);
  expect(stdout).toMatch(/^layer 1, head 0: rows look at columns\n +C a l l ␣ m e/m);
  expect(readFileSync(place.path("runs/book-lm/attention.svg"), "utf8")).toMatch(/^<svg[\s\S]*<\/svg>\s*$/);
  expect(readFileSync(place.path("runs/book-lm/attention.html"), "utf8")).toMatch(/^<!doctype html>/);
  expect(stdout.trimEnd()).toMatch(/Open runs\/book-lm\/attention\.html in a browser: .*$/);
});

it.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)("passes %s on, so that the run is saved and can be used, and ends with %i", async (signal, code) => {
  const env = { ...process.env, XDG_CACHE_HOME: place.path(".cache"), NO_COLOR: "1" };
  const endless = [...brief, "--steps", "1000000", "--eval-every", "1000000", "--save-every", "1000000"];
  const running = new Running(spawn(process.execPath, [start, ...endless], { cwd: place.folder, env }), "");
  await running.said(/^step 1\//m);
  running.signal(signal);
  const ended = await running.ended;
  expect(ended.code, ended.stderr).toBe(code);
  expect(ended.stderr).toMatch(/^stopped at step \d+ and saved; go on with: qkv train --resume runs\/book-lm$/m);
  expect(ended.stdout).not.toContain("qkv eval");
  expect((await place.done("generate", "runs/book-lm", "Call", "--tokens", "5")).stdout).toMatch(/^Call/);
});
