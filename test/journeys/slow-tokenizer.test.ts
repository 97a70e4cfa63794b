import { expect, it } from "vitest";
import { Workplace } from "../support/command.ts";
import { foreignFiles } from "../tokens/foreign-files.ts";

it("a tokenizer.json that our own encoder does not understand is used, and training and info say that it is slow", async () => {
  const place = new Workplace();
  const pre_tokenizer = { type: "Sequence", pretokenizers: [{ type: "FixedLength", length: 5 }, foreignFiles.gpt2.pre_tokenizer] };
  place.write("odd.json", JSON.stringify({ ...foreignFiles.gpt2, pre_tokenizer }));
  place.write("text.txt", "the cat and the hat\n".repeat(60));
  const flags = "--layers 1 --heads 1 --width 16 --context 8 --batch 2 --steps 2 --threads 1 --out run".split(" ");
  const { stderr } = await place.done("train", "text.txt", "--tokenizer", "odd.json", ...flags);
  const reason = "its pre_tokenizer FixedLength is of no known sort";
  expect(stderr).toContain(`read by @huggingface/tokenizers, which is slow, and not by our own encoder: ${reason}`);
  expect((await place.done("info", "run")).stdout).toContain(`other, 261 entries; slow, because ${reason}`);
  expect(JSON.parse((await place.done("info", "run", "--json")).stdout).tokenizer.slow).toBe(reason);
});
