// Hypotheses of a beam search as a tree: what they begin with together is there once.

export interface BeamToken {
  readonly id: number;
  readonly text: string;
  readonly logProbability: number;
}

export interface Hypothesis {
  readonly tokens: readonly BeamToken[];
  /** Of its end, where the model ended it. */
  readonly end?: number;
}

export interface BeamNode {
  /** Tokens that all hypotheses from here on say, one after the other. */
  readonly tokens: readonly BeamToken[];
  /** The hypotheses that pass here, the best first. */
  readonly hypotheses: readonly number[];
  /** The one that ends here. */
  readonly ends?: number;
  readonly children: readonly BeamNode[];
}

/** A root without tokens of its own, unless all of them begin alike. */
export const prefixTree = (hypotheses: readonly Hypothesis[]): BeamNode => nodeOf(hypotheses, [...hypotheses.keys()], 0);

function nodeOf(all: readonly Hypothesis[], through: readonly number[], from: number): BeamNode {
  let until = from;
  const [first] = through;
  while (
    first !== undefined &&
    through.every((i) => until < all[i].tokens.length && all[i].tokens[until].id === all[first].tokens[until].id)
  )
    until++;
  const ends = through.find((i) => all[i].tokens.length === until);
  const groups = new Map<number, number[]>();
  for (const i of through) {
    const next = all[i].tokens[until];
    if (next) groups.set(next.id, [...(groups.get(next.id) ?? []), i]);
  }
  return {
    tokens: first === undefined ? [] : all[first].tokens.slice(from, until),
    hypotheses: through,
    ...(ends !== undefined && { ends }),
    children: [...groups.values()].map((some) => nodeOf(all, some, until)),
  };
}

/** The logarithm of a hypothesis' probability, its end included. */
export const logProbabilityOf = ({ tokens, end = 0 }: Hypothesis): number =>
  tokens.reduce((sum, { logProbability }) => sum + logProbability, end);

/** What hypotheses are ranked by: log p / length^penalty, the end counted. */
export const scoreOf = (hypothesis: Hypothesis, lengthPenalty: number): number =>
  logProbabilityOf(hypothesis) / Math.max(1, hypothesis.tokens.length + (hypothesis.end === undefined ? 0 : 1)) ** lengthPenalty;
