import type { TokenizerJson } from "./frame.ts";
import { patterns } from "./patterns.ts";

/** \w of Unicode, as the `tokenizers` package has it. */
const word = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\u200c\\u200d";

/**
 * Three pre-tokenizers in other words: @huggingface/tokenizers reads their \s and \w as JavaScript does, but those of a Split
 * as Unicode does, and so does the `tokenizers` package everywhere.
 */
export function amended(json: TokenizerJson): TokenizerJson {
  const amend = (part: unknown): unknown => {
    const { type, pretokenizers, add_prefix_space, use_regex } = part as Record<string, unknown>;
    const split = (Regex: string, invert: boolean) => ({
      type: "Split",
      pattern: { Regex },
      behavior: invert ? "Removed" : "Isolated",
      invert,
    });
    if (type === "Sequence" && Array.isArray(pretokenizers)) return { type, pretokenizers: pretokenizers.map(amend) };
    if (type === "Whitespace") return split(`[${word}]+|[^\\s${word}]+`, true);
    if (type === "BertPreTokenizer") return split(patterns.bertWords, true);
    if (type !== "ByteLevel" || add_prefix_space || use_regex === false) return part;
    return { type: "Sequence", pretokenizers: [split(patterns.byteWords, false), { ...(part as object), use_regex: false }] };
  };
  return json.pre_tokenizer === null ? json : { ...json, pre_tokenizer: amend(json.pre_tokenizer) as object };
}
