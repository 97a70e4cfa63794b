import { targetStart } from "../batches/encode.ts";
import { unwritten } from "../trained/reading.ts";
import type { TrainedModel } from "../trained/trained.ts";
import { allFound, alone, type Group } from "../training/group.ts";
import { beamSearch, type Hypothesis } from "./beam.ts";
import { speakerFor } from "./speaker.ts";

export interface TranslateOptions {
  /** How many translations are followed at once; 1 takes the likeliest token each time. */
  readonly beams?: number;
  readonly lengthPenalty?: number;
  /** Aborted, it leaves off before the next token, and throws the signal's reason. */
  readonly signal?: AbortSignal;
  /** Who translates together, each some of the sources; all get all of them. */
  readonly group?: Group;
}

/** Rows that go on together. */
const rowsAtOnce = 64;

/**
 * The best target for each source, at most a context long, from a model that reads one and writes the other. Sources of like length go
 * together.
 */
export async function translateIds(
  trained: TrainedModel,
  sources: readonly Int32Array[],
  { beams = 1, lengthPenalty, signal, group = alone }: TranslateOptions = {},
): Promise<Hypothesis[]> {
  const { end = 0, ends } = trained.tokenizer;
  const start = targetStart(trained.tokenizer);
  const forbidden = unwritten(trained);
  const order = [...sources.keys()].sort((a, b) => sources[a].length - sources[b].length || a - b);
  const found = new Map<number, Hypothesis>();
  const count = Math.max(1, Math.floor(rowsAtOnce / beams));
  const { value: speaker, release } = await speakerFor(trained);
  try {
    for (let first = 0; first < order.length; first += count) {
      if ((first / count) % group.size !== group.rank) continue;
      const members = order.slice(first, first + count);
      const prompts = members.map((i) => ({ ids: start, source: sources[i] }));
      const best = await beamSearch(speaker, prompts, { beams, lengthPenalty, end, ends, forbidden, tokens: speaker.longest, signal });
      for (const [row, i] of members.entries()) found.set(i, best[row][0]);
    }
    return allFound(group, found);
  } finally {
    await release();
  }
}
