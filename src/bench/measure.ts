/** Milliseconds of each repetition, sorted. */
export interface Timing {
  readonly best: number;
  readonly median: number;
  readonly count: number;
}

export interface Contestant {
  readonly run: () => Promise<unknown>;
  /** Repetitions in a row, each round. */
  readonly burst: number;
  /** What is done before each round and not timed. */
  readonly prepare?: () => Promise<unknown>;
}

/** An engine whose idle sessions spin for a moment would slow down the next one. */
const rest = 30;

/**
 * Times several things in turns, so that a slow moment of the machine hits all of them. Compare best with best: on a shared
 * machine the smallest time is the one that was disturbed least.
 */
export async function interleave<Name extends string>(
  contestants: Record<Name, Contestant>,
  rounds: number,
): Promise<Record<Name, Timing>> {
  const names = Object.keys(contestants) as Name[];
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>;
  for (let round = -1; round < rounds; round++) {
    for (const name of names) {
      await contestants[name].prepare?.();
      await new Promise((resolve) => setTimeout(resolve, rest));
      for (let i = 0; i < contestants[name].burst; i++) {
        const start = performance.now();
        await contestants[name].run();
        if (round >= 0) times[name].push(performance.now() - start); // round -1 warms up
      }
    }
  }
  return Object.fromEntries(names.map((name) => [name, timing(times[name])])) as Record<Name, Timing>;
}

function timing(times: number[]): Timing {
  const sorted = times.toSorted((a, b) => a - b);
  return { best: sorted[0], median: sorted[sorted.length >> 1], count: sorted.length };
}
