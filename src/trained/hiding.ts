import { ConfigError } from "../base/errors.ts";
import type { Hiding } from "../batches/hidden.ts";
import { type HubRecord, tokenText } from "../hub/record.ts";
import { frameOf } from "../tokens/around.ts";
import { type MaskToken, maskToken, ordinaryIds } from "../tokens/mask.ts";
import type { Tokenizer } from "../tokens/tokenizer.ts";

/** Who reads texts with hidden tokens. */
export interface MaskedReader {
  readonly tokenizer: Tokenizer;
  readonly hub?: HubRecord | undefined;
  /** What it is called in errors. */
  readonly name?: string;
}

/** The token that stands for a hidden one, if there is any. */
export const knownMask = ({ tokenizer, hub }: MaskedReader): MaskToken | undefined =>
  maskToken(tokenizer, tokenText(hub?.tokenizerConfig?.mask_token));

export function maskOf(reader: MaskedReader): MaskToken {
  const found = knownMask(reader);
  if (found) return found;
  throw new ConfigError(`the tokenizer of ${reader.name ?? "this model"} has no token for a hidden word, such as [MASK]`, {
    code: "config.task",
  });
}

/** How tokens are hidden in its texts. */
export function hidingOf(reader: MaskedReader): Hiding {
  const ordinary = ordinaryIds(reader.tokenizer);
  const hidden = new Set(ordinary);
  return { mask: maskOf(reader).id, ordinary, mayHide: (id) => hidden.has(id), frame: frameOf(reader.tokenizer) };
}
