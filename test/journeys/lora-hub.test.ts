import { cpSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readSafetensors } from "../../src/weights/safetensors.ts";
import { expectRefusal, Workplace } from "../support/command.ts";

// An adapter of a folder of Hugging Face: trained, read in PEFT's names, and merged to such a folder again.

const place = new Workplace();
const model = (name: string) => join(import.meta.dirname, "../hub/models", name);
const done = async (...args: string[]) => (await place.done(...args)).stdout;

it("an adapter of a Llama has Llama's names, swaps, and is merged to a folder of Hugging Face", async () => {
  cpSync(model("llama"), place.path("llama"), { recursive: true });
  place.write("a.txt", "the cat sat on the mat and the dog sat on the log\n".repeat(40));
  const flags = ["--batch", "4", "--steps", "4", "--lr", "0.05", "--threads", "1", "--quiet"];
  await place.done(
    "train",
    "a.txt",
    "--from",
    "llama",
    "--lora",
    "2",
    "--lora-targets",
    "all",
    "--checkpoint-blocks",
    ...flags,
    "--out",
    "run",
  );
  const names = [...readSafetensors(readFileSync(place.path("run/adapter/adapter_model.safetensors")), "").tensors.keys()];
  expect(names[0]).toBe("base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight");
  const { target_modules, r, lora_alpha } = JSON.parse(readFileSync(place.path("run/adapter/adapter_config.json"), "utf8"));
  expect({ target_modules, r, lora_alpha }).toEqual({
    target_modules: ["down_proj", "gate_proj", "k_proj", "o_proj", "q_proj", "up_proj", "v_proj"],
    r: 2,
    lora_alpha: 4,
  });
  expect(JSON.parse(await done("merge", "run", "--out", "whole", "--json"))).toMatchObject({ folder: "whole", kind: "hf" });
  expect(existsSync(place.path("whole/tokenizer.json"))).toBe(true);
  const measured = async (...args: string[]) => {
    const { seconds: _, ...rest } = JSON.parse(await done("eval", ...args, "a.txt", "--json", "--threads", "1"));
    return rest;
  };
  const own = await measured("run");
  expect(await measured("llama", "--adapter", "run")).toEqual(own);
  expect(await measured("whole")).toEqual(own);
  expect(await measured("llama")).not.toEqual(own);
});

it("where queries, keys and values are one matrix of the family, so is their adapter", async () => {
  const flags = ["--batch", "4", "--steps", "2", "--threads", "1", "--quiet"];
  const from = ["train", "a.txt", "--from", model("gpt2"), "--lora", "2"];
  await place.done(...from, ...flags, "--out", "joined");
  const names = [...readSafetensors(readFileSync(place.path("joined/adapter/adapter_model.safetensors")), "").tensors.keys()];
  expect(names[0]).toBe("base_model.model.transformer.h.0.attn.c_attn.lora_A.weight");
  expect(JSON.parse(readFileSync(place.path("joined/adapter/adapter_config.json"), "utf8"))).toMatchObject({
    target_modules: ["c_attn"],
    fan_in_fan_out: true,
  });
  const refused = await place.start(...from, "--lora-targets", "q", ...flags, "--out", "x").ended;
  expectRefusal(refused, 2, /no matrix is called "q"; here queries, keys and values are one matrix, qkv/);
});

it("sinusoids that a family never trains need no freezing beside an adapter", async () => {
  place.write(
    "pairs.tsv",
    `source\ttarget\n${[1, 2, 3, 4, 5, 6].map((i) => `the cat ${"a ".repeat(i)}\tthe hat ${"b ".repeat(i)}`).join("\n")}\n`,
  );
  await place.done(..."train pairs.tsv --lora 2 --batch 2 --steps 2 --threads 1 --quiet --out marian --from".split(" "), model("marian"));
  expect(JSON.parse(readFileSync(place.path("marian/config.json"), "utf8")).training.freeze ?? []).toEqual([]);
});
