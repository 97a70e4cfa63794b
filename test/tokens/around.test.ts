import { Tokenizer as Native } from "tokenizers";
import { describe, expect, it } from "vitest";
import { loadTokenizer, withRoles } from "../../src/tokens/index.ts";
import { foreignFiles } from "./foreign-files.ts";

// What stands around a text: ids that a file's post_processor adds, and ids that something beside the file knows.

const template = (...single: string[]) => ({
  type: "TemplateProcessing",
  single: single.map((id) => (id === "A" ? { Sequence: { id, type_id: 0 } } : { SpecialToken: { id, type_id: 0 } })),
  pair: [{ Sequence: { id: "A", type_id: 0 } }, { Sequence: { id: "B", type_id: 1 } }],
  special_tokens: { "<s>": { id: "<s>", ids: [1], tokens: ["<s>"] }, "</s>": { id: "</s>", ids: [2], tokens: ["</s>"] } },
});
const byteLevel = { type: "ByteLevel", add_prefix_space: true, trim_offsets: false, use_regex: true };
const around = { sep: ["</s>", 2], cls: ["<s>", 1] };
const processors = {
  none: null,
  byteLevel,
  llama: template("<s>", "A"),
  t5: template("A", "</s>"),
  twice: template("<s>", "<s>", "A", "</s>"),
  bert: { type: "BertProcessing", ...around },
  roberta: { type: "RobertaProcessing", ...around, trim_offsets: true, add_prefix_space: false },
  sequence: { type: "Sequence", processors: [byteLevel, template("<s>", "A")] },
};

describe("the ids around a text", () => {
  it.each(Object.entries(processors))("are those that the tokenizers package adds: %s", async (_, post_processor) => {
    const file = { ...foreignFiles.llama, post_processor };
    const { frame, encode } = loadTokenizer(file, "framed.json");
    const whole = (await Native.fromString(JSON.stringify(file)).encode("the cat")).getIds();
    expect([...(frame?.before ?? []), ...encode("the cat"), ...(frame?.after ?? [])]).toEqual(whole);
    expect(frame !== undefined).toBe(whole.length > encode("the cat").length);
  });

  it("are refused where they name nothing", () => {
    const load = (post_processor: object) => () => loadTokenizer({ ...foreignFiles.llama, post_processor }, "bad.json");
    expect(load(template("<s>"))).toThrow("bad.json: at post_processor.single: the text stands 0 times in the template, not once");
    expect(load(template("[CLS]", "A"))).toThrow('bad.json: at post_processor.special_tokens: "[CLS]" is missing');
    expect(load({ type: "BertProcessing", sep: ["x", 5000], cls: ["<s>", 1] })).toThrow(
      "bad.json: at post_processor: the id 5000 is not in the vocabulary, which has 269 entries",
    );
    const two = { type: "Sequence", processors: [template("<s>", "A"), byteLevel, template("A", "</s>")] };
    expect(load(two)).toThrow("bad.json: at post_processor.processors: 2 of them add tokens, not one");
    expect(load({ type: "BertProcessing", cls: 1 })).toThrow("bad.json: at post_processor.cls");
  });
});

describe("other roles", () => {
  const llama = loadTokenizer(foreignFiles.llama, "llama");

  it("replace those that were guessed, and leave the rest", () => {
    const { start, end, ends, pad, encode } = withRoles(llama, { ends: [0, 2], pad: 0 });
    expect({ start, end, ends, pad }).toEqual({ start: 1, end: 0, ends: [0, 2], pad: 0 });
    expect(encode("the")).toEqual(llama.encode("the"));
    expect(withRoles(llama, {})).toEqual(llama);
  });

  it("are ids", () => {
    expect(() => withRoles(llama, { start: -1 })).toThrow("the token id -1 cannot stand around a text: ids are whole numbers from 0");
  });
});
