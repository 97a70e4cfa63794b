import { ConfigError } from "../base/errors.ts";
import { between, codeOf, whole } from "../models/bounds.ts";

const limits = {
  tokens: whole(1, 1e9),
  samples: whole(1, 10_000),
  top: whole(0, 1000),
  rows: whole(1, 1e9),
  piece: whole(1, 1e9),
  beams: whole(1, 1000),
  seed: whole(0, Number.MAX_SAFE_INTEGER),
  lengthPenalty: between(-100, 100),
};

/** Refuses numbers that nothing could be written with, such as no tokens at all. What is left out is right. */
export function checkLimits(given: { readonly [Name in keyof typeof limits]?: number }): void {
  for (const [name, limit] of Object.entries(limits)) {
    const value = given[name as keyof typeof limits];
    const result = limit.optional().safeParse(value);
    if (result.success) continue;
    const [issue] = result.error.issues;
    throw new ConfigError(issue.message, { code: codeOf(issue), at: name });
  }
}
