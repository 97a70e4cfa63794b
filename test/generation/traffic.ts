import { expect } from "vitest";
import { type Chance, chance } from "../../src/base/chance.ts";
import { EngineError } from "../../src/base/errors.ts";
import type { Constraint } from "../../src/generation/constraint.ts";
import { type BatchOptions, type Request, RunningBatch, type Said } from "../../src/generation/running-batch.ts";
import { type SamplingInput, sampling } from "../../src/generation/sampling.ts";
import type { Speaker } from "../../src/generation/speech.ts";
import { brokenAt, nothingAllowed, paused } from "./stand-ins.ts";
import { randomIds } from "./whole-model.ts";

// Random traffic: requests join, leave and are aborted at any await.

/** One stay in a batch: a request may come again after it has left. */
export interface Stay {
  readonly request: Request;
  readonly told: Said[];
  left: boolean;
}

const settings: readonly SamplingInput[] = [
  {},
  { temperature: 0 },
  { topK: 3 },
  { temperature: 2, topP: 0.9 },
  { minP: 0.2 },
  { repetitionPenalty: 1.5, bias: new Map([[3, 1]]) },
];

/** The ids of a prompt or a source. */
export type Ids = (source: Chance, vocab: number) => number[];

const anyIds: Ids = (source, vocab) => randomIds(1 + source.integer(0, 9), vocab, source.integer(1, 1000));

/** Prompts of two tokens that begin as others do, for longer or shorter, up to so many: whoever takes what is not his own, will say so. */
export const alike =
  (longest: number): Ids =>
  (source) => {
    const same = source.integer(0, longest);
    const length = 1 + source.integer(1, longest);
    const family = chance(source.integer(2, 2)).fork("family");
    return Array.from({ length }, (_, i) => 3 + (i < same ? family.integer(i, 2) : source.integer(10 + i, 2)));
  };

/** All but one token may come; counts who holds it. */
export class CountedConstraint implements Constraint {
  readonly #allowed: Int32Array;
  released = 0;

  constructor(vocab: number, forbidden: number) {
    this.#allowed = new Int32Array(Math.ceil(vocab / 32)).fill(-1);
    this.#allowed[forbidden >> 5] &= ~(1 << (forbidden & 31));
  }

  async allowed(): Promise<Int32Array> {
    await undefined;
    return this.#allowed;
  }

  accept(token: number): void {
    expect((this.#allowed[token >> 5] >>> (token & 31)) & 1).toBe(1);
  }

  release(): void {
    this.released++;
  }
}

/** Any request: its own prompt, seed, number of tokens, sampling and end. Some cannot be answered, or not to their end. */
function requestOf(source: Chance, vocab: number, reads: boolean, idsOf: Ids): Request {
  const ids = (place: number) => idsOf(source.fork("ids").fork(place), vocab);
  const fault = source.integer(8, 30);
  return {
    ids: reads ? [1, ...ids(0).slice(1, 5)] : ids(0),
    ...(reads && { source: Int32Array.from(ids(2)) }),
    tokens: 1 + source.integer(4, 9),
    sampling: sampling(settings[source.integer(5, settings.length)]),
    chance: source.fork("own"),
    ...(source.uniform(6) < 0.5 && { end: source.integer(7, vocab) }),
    ...(source.uniform(9) < 0.3 && { constraint: new CountedConstraint(vocab, source.integer(10, vocab)), top: 2 }),
    ...(fault === 0 && { tokens: -1 }),
    ...(fault === 1 && { ids: [] }),
    ...(fault === 2 && { sampling: nothingAllowed(vocab) }),
    ...(fault === 3 && { chance: brokenAt(2, source.fork("own")) }),
  };
}

/** So many stays are in a schedule, or a few more. */
const most = 25;

export interface Play {
  readonly reads?: boolean;
  /** This share of all runs of the model fails. */
  readonly failing?: number;
  readonly ids?: Ids;
  readonly options?: BatchOptions;
}

/** Plays a random schedule, in which something may happen at every await, and gives all stays. */
export async function played(
  speaker: Speaker,
  source: Chance,
  { reads = false, failing = 0, ids = anyIds, options = {} }: Play = {},
): Promise<Stay[]> {
  const stays: Stay[] = [];
  const present = new Map<Request, Stay>();
  const aborts = new Map<Request, AbortController>();
  let moment = 0;
  const come = (request: Request): void => {
    const stay = { request, told: [], left: false };
    const controller = new AbortController();
    controller.signal.addEventListener("abort", () => batch.remove(request));
    stays.push(stay);
    present.set(request, stay);
    aborts.set(request, controller);
    batch.add(request);
  };
  const leave = (request: Request, how: "remove" | "abort"): void => {
    (present.get(request) as Stay).left = true;
    present.delete(request);
    if (how === "remove") batch.remove(request);
    else aborts.get(request)?.abort();
  };
  const happens = (): void => {
    const pick = source.fork(moment++);
    const kind = pick.uniform(0);
    const those = [...present.keys()];
    const one = those[pick.integer(1, Math.max(1, those.length))];
    if (kind < 0.2 && stays.length < most && those.length < 7) come(requestOf(pick.fork("request"), speaker.vocab, reads, ids));
    else if (one && kind < 0.23) leave(one, "remove");
    else if (one && kind < 0.26) leave(one, "abort");
    else if (one && kind < 0.28) {
      leave(one, "remove");
      come(one);
    } else if (kind < 0.32 && stays.length > 0) {
      const gone = stays[pick.integer(2, stays.length)].request;
      if (!present.has(gone)) expect(batch.remove(gone)).toBe(false);
    }
  };
  const batch = new RunningBatch(
    paused(speaker, async () => {
      happens();
      await undefined;
      happens();
      if (source.fork(moment).uniform(3) < failing) throw new EngineError("out of memory");
    }),
    options,
  );
  while (stays.length < most || batch.size > 0) {
    happens();
    for (const said of await batch.step()) {
      const stay = present.get(said.request);
      expect(stay, "one who is told something is there").toBeDefined();
      stay?.told.push(said);
      if (said.finish !== undefined) present.delete(said.request);
    }
    expect(batch.size).toBe(present.size);
    expect(batch.rows).toBeLessThanOrEqual(options.rows ?? Number.POSITIVE_INFINITY);
  }
  expect([batch.rows, batch.waiting, batch.bytes]).toEqual([0, 0, options.prefixes?.bytes ?? 0]);
  for (const { request } of stays)
    if (request.constraint)
      expect((request.constraint as CountedConstraint).released).toBe(stays.filter((stay) => stay.request === request).length);
  return stays;
}

export async function alone(speaker: Speaker, request: Request): Promise<Said[]> {
  const batch = new RunningBatch(speaker);
  batch.add(request);
  const told: Said[] = [];
  while (batch.size > 0) told.push(...(await batch.step()));
  return told;
}

const tokens = (said: readonly Said[]) => said.map(({ token, finish, error }) => ({ token, finish, error: error?.message }));

/** Every stay against the same request alone, to so many digits; those who left, or whom the engine has failed, have heard a beginning of it. */
export async function expectAlike(speaker: Speaker, stays: readonly Stay[], digits: number, what: string): Promise<void> {
  for (const [i, { request, told, left }] of stays.entries()) {
    const failed = told.at(-1)?.error instanceof EngineError;
    const whole = failed ? told.slice(0, -1) : told;
    const wanted = await alone(speaker, request);
    const heard = left || failed ? wanted.slice(0, whole.length) : wanted;
    expect(tokens(whole), `${what}, stay ${i}`).toEqual(tokens(heard));
    for (const [at, { logProbability }] of heard.entries())
      if (logProbability !== undefined)
        expect(whole[at].logProbability, `${what}, stay ${i}, token ${at}`).toBeCloseTo(logProbability, digits);
  }
}
