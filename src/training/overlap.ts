import type { ParameterLayout } from "../graph/parameters.ts";
import type { Group } from "./group.ts";

// Whether ranks exchange some of the gradients while they still compute others. The bits are the same either way, so both ways are tried while training, and the faster
// one is kept.

/** After all gradients are there, or the upper half of them while the rest is computed. */
export type Exchange = "after" | "meanwhile";

/** Whether that is tried, is so from the beginning, or never is. */
export const overlaps = ["measured", "always", "never"] as const;
export type Overlap = (typeof overlaps)[number];

/** What ranks found to be the better way, and why. */
export interface ExchangeReport {
  readonly kind: "exchange";
  readonly step: number;
  readonly way: Exchange;
  /** The share of a step that the exchange takes after it. */
  readonly share: number;
  /** Seconds of a step, with each way that was tried. */
  readonly stepSeconds: { readonly after: number; readonly meanwhile?: number };
  /** Why the other way was not tried, if it was not: there is too little to win, or no room. */
  readonly untried?: "little" | "memory";
}

/** Where the backward pass is cut. */
export interface Cut {
  /** Parameters whose gradients each session but the last gives. */
  readonly stages: readonly (readonly string[])[];
  /** The gradients from here on come with the first session, and are exchanged while the others compute. */
  readonly from: number;
}

/** Shares of all gradients that are there after the first session and after the second. An exchange has two halves, there and back; each is on its way while one session computes. */
const shares = [0.5, 0.75];
/** An exchange that takes less of a step is not worth the memory of another way. */
const leastShare = 0.1;
/** The other way must win so much. */
const leastGain = 0.02;
/** Steps of each way that are timed, after one that makes its sessions. */
const tries = 4;

/** Parameters come in the order in which a model reads them, and their gradients in the opposite one. */
export function cutOf({ entries, total }: ParameterLayout): Cut | undefined {
  const places = shares.map((share) => entries.findIndex(({ offset }) => offset >= (1 - share) * total));
  const [first, second] = places;
  if (first <= 0) return undefined;
  const names = entries.map(({ name }) => name);
  const stages = [names.slice(first), names.slice(second, first)].filter((stage) => stage.length > 0);
  const from = Math.min(total, 16 * Math.ceil(entries[first].offset / 16)); // at the beginning of a line, as all that travels
  return { stages, from };
}

/** What a step took. */
interface Taken {
  readonly step: number;
  readonly seconds: number;
  readonly exchange: number;
  readonly tokens: number;
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;

/** Tries both ways in the first steps, and keeps the faster. All ranks hear the same numbers, and so come to the same. */
export class ExchangeChoice {
  #way: Exchange;
  #decided: boolean;
  readonly #group: Group;
  readonly #fits: () => Promise<boolean>;
  #taken: Taken[] = [];
  #after = { seconds: 0, share: 0 };

  /** `fits` tells whether there is room here for the other way. */
  constructor(group: Group, overlap: Overlap, fits: () => Promise<boolean>) {
    this.#group = group;
    this.#fits = fits;
    this.#way = overlap === "always" ? "meanwhile" : "after";
    this.#decided = overlap !== "measured";
  }

  /** Of the next step. */
  get way(): Exchange {
    return this.#way;
  }

  /** Told of each step, by all ranks; says what was chosen when that is known. */
  async heard(taken: Taken): Promise<ExchangeReport | undefined> {
    if (this.#decided) return undefined;
    this.#taken.push(taken);
    if (this.#taken.length <= tries) return undefined;
    const [, ...timed] = this.#taken;
    this.#taken = [];
    const said = Float64Array.of(
      median(timed.map(({ seconds, tokens }) => seconds / tokens)),
      mean(timed.map(({ seconds, exchange }) => (seconds > 0 ? exchange / seconds : 0))),
      this.#way === "after" && !(await this.#fits()) ? 1 : 0,
    );
    const heard = await this.#group.gather(said);
    const [each, share, full] = [0, 1, 2].map((i) => mean(heard.map((one) => one[i])));
    const found = { seconds: each * taken.tokens, share };
    if (this.#way === "meanwhile") {
      const { seconds } = this.#after;
      return this.#decide(taken.step, found.seconds < (1 - leastGain) * seconds ? "meanwhile" : "after", found.seconds);
    }
    this.#after = found;
    if (share < leastShare) return this.#decide(taken.step, "after", undefined, "little");
    if (full > 0) return this.#decide(taken.step, "after", undefined, "memory");
    this.#way = "meanwhile";
    return undefined;
  }

  #decide(step: number, way: Exchange, meanwhile?: number, untried?: "little" | "memory"): ExchangeReport {
    this.#way = way;
    this.#decided = true;
    const { seconds: after, share } = this.#after;
    return {
      kind: "exchange",
      step,
      way,
      share,
      stepSeconds: { after, ...(meanwhile !== undefined && { meanwhile }) },
      ...(untried && { untried }),
    };
  }
}
