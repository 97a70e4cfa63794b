import type { TokenizerJson } from "./frame.ts";

// Which tokens of a foreign file stand before and after a text: files do not say it, but their names are customary.

const starts = ["<s>", "[CLS]", "<bos>", "<|begin_of_text|>", "<|startoftext|>", "[BOS]", "<|endoftext|>"];
const ends = ["</s>", "[SEP]", "<eos>", "<|end_of_text|>", "<|endoftext|>", "[EOS]", "<|im_end|>"];
const unknowns = ["<unk>", "[UNK]"];

export function roles(json: TokenizerJson, ids: ReadonlyMap<string, number>): { unknown?: number; start?: number; end?: number } {
  const { unk_id, unk_token } = json.model;
  const firstOf = (names: readonly string[]): number | undefined => ids.get(names.find((name) => ids.has(name)) ?? "");
  const named = typeof unk_token === "string" ? ids.get(unk_token) : undefined;
  const unknown = typeof unk_id === "number" ? unk_id : (named ?? firstOf(unknowns));
  const [start, end] = [firstOf(starts), firstOf(ends)];
  return { ...(unknown !== undefined && { unknown }), ...(start !== undefined && { start }), ...(end !== undefined && { end }) };
}
