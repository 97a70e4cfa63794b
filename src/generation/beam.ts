import { likeliest } from "./likeliest.ts";
import { checkLimits } from "./limits.ts";
import type { Next, Prompt, Speaker } from "./speech.ts";

export interface BeamOptions {
  /** How many continuations are followed at once. */
  readonly beams: number;
  /** A sum of log-probabilities is divided by length^penalty before it is compared: above 0 helps longer ones, 0 leaves it as it is. */
  readonly lengthPenalty?: number;
  /** The most tokens, the end not counted. */
  readonly tokens: number;
  readonly end?: number;
  /** Others of that kind. */
  readonly ends?: readonly number[];
  /** Tokens that are never written, such as `<unk>`. */
  readonly forbidden?: ReadonlySet<number>;
  /** Aborted, it leaves off before the next token, and throws the signal's reason. */
  readonly signal?: AbortSignal;
}

/** One way to go on. */
export interface Hypothesis {
  readonly tokens: readonly number[];
  /** Of each token. */
  readonly logProbabilities: readonly number[];
  readonly logProbability: number;
  /** What it is ranked by. */
  readonly score: number;
  readonly finish: "end" | "length";
}

interface Live {
  readonly tokens: readonly number[];
  readonly logProbabilities: readonly number[];
  readonly logProbability: number;
  readonly row: number;
}

/** The search for one prompt: what is still open, and the best of what has ended. */
interface Search {
  live: Live[];
  done: Hypothesis[];
}

/** For each prompt its likeliest continuations, the best first, as many as there are beams. One beam is the greedy choice. */
export async function beamSearch(speaker: Speaker, prompts: readonly Prompt[], options: BeamOptions): Promise<Hypothesis[][]> {
  checkLimits(options);
  for (const prompt of prompts) speaker.check?.(prompt, options.tokens);
  const speech = speaker.begin();
  options.signal?.throwIfAborted();
  const room = prompts.map(({ ids }) => Math.min(options.tokens, speaker.longest - ids.length + 1));
  let next = await speech.join(prompts);
  const searches = prompts.map((_, row): Search => ({ live: [{ tokens: [], logProbabilities: [], logProbability: 0, row }], done: [] }));
  for (;;) {
    for (const [i, search] of searches.entries()) if (search.live.length > 0) advance(search, next, room[i], options);
    const all = searches.flatMap(({ live }) => live);
    if (all.length === 0) return searches.map(({ done }) => done);
    options.signal?.throwIfAborted();
    speech.keep(all.map(({ row }) => row));
    next = await speech.next(all.map(({ tokens }) => tokens[tokens.length - 1]));
    let row = 0;
    for (const search of searches) search.live = search.live.map((one) => ({ ...one, row: row++ }));
  }
}

/** One token further: the best of all ways that the open ones can go on stay open, or have ended. */
function advance(search: Search, next: readonly Next[], room: number, options: BeamOptions): void {
  const { beams, end, ends } = options;
  // Of twice as many as there are beams, at most half are ends.
  const ways = search.live.flatMap((from) => likeliest(next[from.row], 2 * beams, options.forbidden).map((way) => ({ ...way, from })));
  const sumOf = ({ from, logProbability }: (typeof ways)[number]) => from.logProbability + logProbability;
  ways.sort((a, b) => sumOf(b) - sumOf(a));
  if (beams === 1) ways.length = 1; // the one beam goes on or ends
  search.live = [];
  for (const [rank, way] of ways.entries()) {
    if (search.live.length === beams) break;
    const { from, token } = way;
    const logProbability = sumOf(way);
    if (token === end || ends?.includes(token)) {
      // An end that is not among the beams is less likely than what stays open.
      if (rank < beams) finish(search, { ...from, logProbability, finish: "end" }, options);
      continue;
    }
    const longer = {
      tokens: [...from.tokens, token],
      logProbabilities: [...from.logProbabilities, way.logProbability],
      logProbability,
      row: from.row,
    };
    if (longer.tokens.length >= room) finish(search, { ...longer, finish: "length" }, options);
    else search.live.push(longer);
  }
  if (search.done.length === beams)
    search.live = search.live.filter((one) => bestPossible(one, room, options) > search.done[beams - 1].score);
}

const scoreOf = (logProbability: number, length: number, { lengthPenalty = 0 }: BeamOptions): number =>
  logProbability / length ** lengthPenalty;

/** No continuation can be ranked higher: probability only falls, and length helps at most as far as there is room. */
const bestPossible = ({ tokens, logProbability }: Live, room: number, options: BeamOptions): number =>
  Math.max(scoreOf(logProbability, tokens.length + 1, options), scoreOf(logProbability, room + 1, options));

/** Takes its place among the best that have ended, as many as there are beams. */
function finish({ done }: Search, ended: Omit<Hypothesis, "score">, options: BeamOptions): void {
  const { tokens, logProbabilities, logProbability, finish: reason } = ended;
  const length = tokens.length + (reason === "end" ? 1 : 0);
  const one = { tokens, logProbabilities, logProbability, score: scoreOf(logProbability, length, options), finish: reason };
  const at = done.findIndex(({ score }) => score < one.score);
  done.splice(at < 0 ? done.length : at, 0, one);
  if (done.length > options.beams) done.pop();
}
