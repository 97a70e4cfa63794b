import { type ClassScores, type Counts, macroOf, type Scores, scoresOf, weightedOf } from "./classification.ts";
import { checkPairs } from "./ngrams.ts";

// Tags that mark spans: B-PER begins one of the type PER, I-PER goes on with it, O is outside (and E-, S- end and are whole ones). Counted
// as conlleval and seqeval do by default: a span that goes on without having begun is taken for one.

export interface Span {
  readonly type: string;
  /** The places of its first and its last tag. */
  readonly first: number;
  readonly last: number;
}

export interface SpanScores {
  /** Of all spans together. */
  readonly micro: Scores;
  readonly macro: Scores;
  readonly weighted: Scores;
  /** Of each type, in code-point order. */
  readonly types: readonly (ClassScores & { readonly type: string })[];
}

/** Whether tags mark spans. */
export const marksSpans = (tags: readonly string[]): boolean =>
  tags.every((tag) => /^(?:O|[BIES]-.+)$/su.test(tag)) && tags.some((tag) => tag.startsWith("B-"));

/** The spans that a row of tags marks. */
export function spansOf(tags: readonly string[]): Span[] {
  const spans: Span[] = [];
  let [previous, open] = [{ mark: "O", type: "" }, 0];
  for (const [i, tag] of [...tags, "O"].entries()) {
    const current = { mark: tag[0], type: tag.slice(2) };
    const other = previous.type !== current.type;
    if (previous.mark !== "O" && (other || "ES".includes(previous.mark) || "BSO".includes(current.mark)))
      spans.push({ type: previous.type, first: open, last: i - 1 });
    if (current.mark !== "O" && (other || "BS".includes(current.mark) || "ESO".includes(previous.mark))) open = i;
    previous = current;
  }
  return spans;
}

/** How many spans were found exactly, with both ends and their type. */
export function spanScores(truth: readonly (readonly string[])[], predicted: readonly (readonly string[])[]): SpanScores {
  checkPairs(predicted, truth);
  const counts = new Map<string, { true: number; predicted: number; right: number }>();
  const of = (type: string) => {
    const count = counts.get(type) ?? { true: 0, predicted: 0, right: 0 };
    counts.set(type, count);
    return count;
  };
  for (const [i, tags] of truth.entries()) {
    const there = new Set(spansOf(tags).map(keyOf));
    for (const key of there) of(typeOf(key)).true++;
    for (const key of spansOf(predicted[i]).map(keyOf)) {
      of(typeOf(key)).predicted++;
      if (there.has(key)) of(typeOf(key)).right++;
    }
  }
  const named = [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
  const all: Counts[] = named.map(([, count]) => count);
  const sum = (name: keyof Counts) => all.reduce((total, count) => total + count[name], 0);
  const { support: _, ...micro } = scoresOf({ true: sum("true"), predicted: sum("predicted"), right: sum("right") });
  return { micro, macro: macroOf(all), weighted: weightedOf(all), types: named.map(([type, count]) => ({ type, ...scoresOf(count) })) };
}

const keyOf = ({ type, first, last }: Span): string => `${first} ${last} ${type}`;
const typeOf = (key: string): string => key.split(" ").slice(2).join(" ");
