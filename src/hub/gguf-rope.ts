// Llama 3 stretches its rotary positions: slow turns by a factor, fast ones not at all, and those between in between. GGUF keeps what each
// frequency is divided by, and none of the numbers that it comes from; these are found again.

export interface Llama3Scaling {
  readonly factor: number;
  readonly low_freq_factor: number;
  readonly high_freq_factor: number;
  readonly original_max_position_embeddings: number;
}

/** How many turns a frequency makes in a text of one token. */
const turnsOf = (base: number, size: number): number[] =>
  Array.from({ length: size / 2 }, (_, i) => base ** ((-2 * i) / size) / (2 * Math.PI));

/** What each frequency of a head is divided by. */
export function llama3Factors(scaling: Llama3Scaling, base: number, size: number): Float32Array {
  const { factor, low_freq_factor: low, high_freq_factor: high, original_max_position_embeddings: original } = scaling;
  return Float32Array.from(turnsOf(base, size), (turns) => {
    const inContext = original * turns;
    if (inContext > high) return 1;
    if (inContext < low) return factor;
    const share = (inContext - low) / (high - low);
    return 1 / ((1 - share) / factor + share);
  });
}

const agree = (a: Float32Array, b: Float32Array): boolean =>
  a.length === b.length && a.every((value, i) => Math.abs(value - b[i]) <= 1e-4 * b[i]);

/**
 * The scaling that gives these factors, as a config.json says it; undefined if none does. All models so far have 1, 4 and 8,192; other
 * numbers follow from two factors in between: the share is linear in the turns, and with a low factor of 1 the line gives the rest.
 */
export function llama3Of(
  factors: Float32Array,
  base: number,
  size: number,
): (Llama3Scaling & { readonly rope_type: "llama3" }) | undefined {
  const factor = Math.max(...factors);
  const usual = { factor, low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 8192 };
  const found = [usual, fitted(factors, factor, base, size)].find((one) => one && agree(llama3Factors(one, base, size), factors));
  return found && { rope_type: "llama3", ...found };
}

function fitted(factors: Float32Array, factor: number, base: number, size: number): Llama3Scaling | undefined {
  const points = turnsOf(base, size).flatMap((turns, i) => {
    const share = (1 / factors[i] - 1 / factor) / (1 - 1 / factor);
    return share > 1e-3 && share < 1 - 1e-3 ? [{ turns, share }] : [];
  });
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last || first === last) return undefined;
  const slope = (last.share - first.share) / (last.turns - first.turns);
  const beyond = first.share - slope * first.turns; // -low / (high - low)
  const span = -1 / beyond;
  const round = (value: number) => Number(value.toPrecision(3));
  return {
    ...{ factor, low_freq_factor: 1, high_freq_factor: round(1 + span) },
    original_max_position_embeddings: Math.round(slope * round(span)),
  };
}
