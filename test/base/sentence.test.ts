import { describe, expect, it } from "vitest";
import { call, either, instead, type Sentence, sentence, setting, settings } from "../../src/base/sentence.ts";
import { flagWords } from "../../src/cli/flag-words.ts";

describe("a sentence says the same to a program and on the command line", () => {
  it.each<[Sentence, string, string]>([
    [sentence`give a smaller ${setting("batch")}`, "give a smaller batch", "give a smaller --batch"],
    [sentence`change ${setting("keySize")}`, "change keySize", "change --key-size"],
    [sentence`for ${setting("task", "lm")}`, 'for task: "lm"', "for --task lm"],
    [sentence`choose ${setting("task", ["classify", "tag"])}`, 'choose task: "classify"|"tag"', "choose --task classify|tag"],
    [sentence`with ${setting("overwrite", true)}`, "with overwrite: true", "with --overwrite"],
    [sentence`without ${setting("attention", false)}`, "without attention: false", "without --no-attention"],
    [sentence`by ${setting("columns.label")}`, "by columns.label", "by --label-column"],
    [settings1(), '{ layers: 0, lr: 0.01, norm: "none" }', "--layers 0 --lr 0.01 --norm none"],
    [sentence`with: ${call("resume", "runs/a")}`, 'with: resume("runs/a")', "with: qkv train --resume runs/a"],
    [sentence`by ${instead("resume", "runs/a")}`, 'by resume("runs/a")', "by --resume runs/a"],
    [sentence`${call("train", "<data>", { out: "a" })}`, 'train("<data>", { out: "a" })', "qkv train <data> --out a"],
    [sentence`use ${call("classify", "runs/a")}`, 'use open("runs/a").classify()', "use qkv classify runs/a"],
    [
      sentence`use ${call("exportModel", "runs/a", { to: "onnx" })}`,
      'use exportModel(open("runs/a"), { to: "onnx" })',
      "use qkv export runs/a --to onnx",
    ],
    [sentence`use ${call("evaluate", "runs/a")}`, 'use open("runs/a").evaluate()', "use qkv eval runs/a"],
    [sentence`use ${call("tag")}`, "use tag()", "use qkv tag"],
    [
      sentence`use ${either(["decoder", "rnn"].map((name) => setting("model", name)))}`,
      'use model: "decoder" or model: "rnn"',
      "use --model decoder or --model rnn",
    ],
    [sentence`one in ${sentence`another ${setting("steps", 3)}`}, ${2}`, "one in another steps: 3, 2", "one in another --steps 3, 2"],
  ])("%s", (said, program, flags) => {
    expect([`${said}`, JSON.parse(JSON.stringify(said)), said.in(flagWords)]).toEqual([program, program, flags]);
  });
});

function settings1(): Sentence {
  return sentence`${settings({ layers: 0, lr: 1e-2, norm: "none" })}`;
}
