import { existsSync, readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { expectRefusal, outcome, Workplace } from "../support/command.ts";

// Language models that learn answers: prompts with completions, and conversations.

const place = new Workplace();
const capitals = {
  Peru: "Lima",
  Cuba: "Havana",
  Egypt: "Cairo",
  Kenya: "Nairobi",
  Japan: "Tokyo",
  Italy: "Rome",
  Spain: "Madrid",
  Iran: "Tehran",
};
const lines = (rows: readonly object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join("");
const small = "--layers 2 --heads 2 --width 48 --batch 4 --threads 1 --valid-fraction 0".split(" ");
const json = async (...args: string[]) => JSON.parse((await place.done(...args, "--json")).stdout);

beforeAll(async () => {
  const pairs = Object.entries(capitals);
  place.write("facts.jsonl", lines(pairs.map(([land, town]) => ({ prompt: `The capital of ${land} is`, completion: ` ${town}.` }))));
  place.write("facts.csv", `question,answer\n${pairs.map(([land, town]) => `The capital of ${land} is, ${town}.\n`).join("")}`);
  const chats = pairs.map(([land, town]) => ({
    messages: [
      { role: "user", content: `Capital of ${land}?` },
      { role: "assistant", content: town },
    ],
  }));
  place.write("chat.jsonl", lines(chats));
  await place.done("train", "facts.jsonl", ...small, "--steps", "250", "--out", "facts");
  await place.done("train", "chat.jsonl", ...small, "--steps", "250", "--out", "chat");
});

describe("prompts with completions", () => {
  it("are learned, and nothing but the completions is", async () => {
    const { samples } = await json("generate", "facts", "The capital of Kenya is", "--temperature", "0");
    expect(samples[0]).toMatchObject({ text: " Nairobi.", finish: "end" });
    const { loss, tokens, examples } = await json("eval", "facts", "facts.jsonl");
    expect([tokens, examples]).toEqual([Object.values(capitals).reduce((sum, town) => sum + town.length + 3, 0), 8]);
    expect(loss).toBeLessThan(0.5);
    expect(await json("eval", "facts", "facts.csv", "--prompt-column", "question", "--completion-column", "answer")).toMatchObject({
      loss,
    });
  });

  it("of a table train the same model", async () => {
    const columns = ["--prompt-column", "question", "--completion-column", "answer"];
    await place.done("train", "facts.csv", ...columns, ...small, "--steps", "5", "--out", "a");
    await place.done("train", "facts.jsonl", ...small, "--steps", "5", "--out", "b");
    expect(outcome(place.path("a"))).toEqual(outcome(place.path("b")));
  });

  it("go on exactly where they were stopped", async () => {
    await place.done("train", "facts.jsonl", ...small, "--schedule", "constant", "--steps", "4", "--save-every", "2", "--out", "stopped");
    await place.done("train", "--resume", "stopped", "--steps", "8");
    await place.done("train", "facts.jsonl", ...small, "--schedule", "constant", "--steps", "8", "--save-every", "2", "--out", "whole");
    const [stopped, whole] = ["stopped", "whole"].map((run) => outcome(place.path(run)));
    expect(stopped.log).toEqual(whole.log);
  });

  it("that are longer than the context are cut with a warning", async () => {
    const { stderr } = await place.done("train", "facts.jsonl", ...small, "--context", "16", "--steps", "2", "--out", "cut");
    expect(stderr).toMatch(/8 of 8 training examples are longer than the context of 16 tokens and are cut/);
  });
});

describe("conversations", () => {
  it("are learned and asked by the same template, which the run remembers", async () => {
    expect(JSON.parse(readFileSync(place.path("chat/config.json"), "utf8")).chat.tokens).toEqual({ bos_token: "<s>", eos_token: "</s>" });
    const { samples } = await json("generate", "chat", "Capital of Japan?", "--chat", "--temperature", "0");
    expect(samples[0]).toMatchObject({ text: "Tokyo", finish: "end" });
    const { stdout } = await place.fed("Capital of Peru?\nCapital of Cuba?\n", "generate", "chat", "--chat", "--temperature", "0");
    expect(stdout).toBe("Lima\n\nHavana\n");
  });

  it("count the answers' tokens alone", async () => {
    const { tokens } = await json("eval", "chat", "chat.jsonl");
    expect(tokens).toBe(Object.values(capitals).reduce((sum, town) => sum + town.length + 1, 0));
  });

  it("go on from a run that knows them", async () => {
    await place.done("train", "facts.jsonl", "--from", "chat", "--batch", "4", "--steps", "2", "--valid-fraction", "0", "--out", "both");
    expect(existsSync(place.path("both/config.json"))).toBe(true);
    await place.done("generate", "both", "Capital of Japan?", "--chat", "--system", "Short.");
  });

  it("need a model that knows them", async () => {
    expectRefusal(
      await place.qkv("generate", "facts", "Capital of Japan?", "--chat"),
      2,
      /^ConfigError: facts has no chat template, so it does not know how to read messages; give a prompt, or train it on conversations: qkv train chat.jsonl --from facts$/m,
    );
    expectRefusal(await place.qkv("generate", "chat", "Hi", "--system", "x"), 2, /--system is said before a question, so it wants --chat/);
    expectRefusal(await place.qkv("generate", "chat", "1", "--chat", "--ids"), 2, /leave one of them out/);
  });
});
