import { array } from "../base/arrays.ts";
import { ConfigError, DataError, NonFiniteError } from "../base/errors.ts";
import { sentence, setting } from "../base/sentence.ts";
import { pause, Queue, Turns } from "../base/turns.ts";
import type { Constraint } from "../generation/constraint.ts";
import type { Forms, FormsOptions } from "../generation/forms.ts";
import { type Likely, likeliest } from "../generation/likeliest.ts";
import { Prefixes } from "../generation/prefixes.ts";
import type { EndedPrompt } from "../generation/prompt.ts";
import { type Request, RunningBatch, type Said, type SaidToken } from "../generation/running-batch.ts";
import { largestBias, notNumbers } from "../generation/sampling.ts";
import { speakerFor } from "../generation/speaker.ts";
import { writeBest } from "../generation/writer.ts";
import { endsOf, type Sample, Writing } from "../generation/writing.ts";
import { answersOf, rowsOf } from "../inspection/answers.ts";
import { readsSource } from "../models/any.ts";
import { warnUnrounded } from "../trained/baked.ts";
import type { Warn } from "../trained/reading.ts";
import type { TrainedModel } from "../trained/trained.ts";
import type { Begun, Form, Load, Piece, ToldToken, WriteAsk } from "./messages.ts";
import { type AskedPrompt, askedPrompt } from "./prompts.ts";
import { tokenNames } from "./token-names.ts";

// Writing for many at once: everybody's texts are rows of one batch, which goes on as long as there are any.

export interface WritingJob {
  readonly signal: AbortSignal;
  readonly warn: Warn;
  begun(begun: Begun): void;
  piece(piece: Piece): void;
}

/** One text of a job. */
interface Placed {
  readonly writing: Writing;
  readonly prompt: number;
  readonly sample: number;
  count: number;
}

/** A job that is under way. */
interface Open {
  readonly ask: WriteAsk;
  readonly job: WritingJob;
  readonly placed: ReadonlyMap<Request, Placed>;
  left: number;
  /** Told once: when the first of its prompts is read. */
  begin(): void;
  end(error?: unknown): void;
}

export interface WritersOptions {
  /** The most texts at once; the rest waits. */
  readonly rows?: number;
  /** The most tokens of prompts that are read between two tokens of the others. */
  readonly piece?: number;
  /** Whether beginnings that prompts have in common are read once; they are, if left out. */
  readonly share?: boolean;
}

/** What a conversation without a bound may be answered with. */
export const usualMost = 1024;

/** Of what rows may take, a part is for common beginnings, and never more than this: whoever comes looks through all of them. */
const sharedPart = 4;
const mostShared = 256 * 2 ** 20;
const usualShared = 64 * 2 ** 20;

/** Scores of prompts that are told: a second's work. */
const mostScores = 2 ** 26;
/** An RNN is unrolled to be scored; so many steps of one always are. */
const fewestScored = 256;
/** Tokens with names and scores that one answer tells: of prompts that are told again, and of a text that is given whole. */
export const mostTold = 2 ** 18;
/** Rows of one search. */
const rowsOfBeams = 64;
/** Tokens of prompts that one request may have, each of its texts counted. */
const mostPrompted = 2 ** 20;

export class Writers {
  readonly #trained: TrainedModel;
  readonly #options: WritersOptions;
  /** Bytes that rows and common beginnings may take, once somebody has said so; it may be said anew. */
  room: number | undefined;
  #batch: Promise<RunningBatch> | undefined;
  #known: RunningBatch | undefined;
  #letGo: (() => Promise<void>) | undefined;
  #prefixes: Prefixes | undefined;
  #forms: Forms | undefined;
  /** Loaded when a form is first asked for. */
  #formsOf: ((options: FormsOptions) => Forms) | undefined;
  #names: ReturnType<typeof tokenNames> | undefined;
  readonly #open = new Map<Request, Open>();
  #running = false;
  /** One after the other: what is scored or searched as a whole takes memory of its own. */
  readonly #queue = new Queue();

  constructor(trained: TrainedModel, options: WritersOptions = {}) {
    this.#trained = trained;
    this.#options = options;
  }

  /** Common beginnings are read anew. */
  forget(): void {
    this.#prefixes?.clear();
  }

  get load(): Omit<Load, "memory"> {
    const { rows = 0, waiting = 0, bytes = 0 } = this.#known ?? {};
    return { rows, waiting, kept: bytes };
  }

  /** Lets go of the batch, whose sessions stay with the model no longer than it does. */
  async end(): Promise<void> {
    await this.#batch?.catch(() => {}); // whoever asked for it was told
    while (this.#running) await pause(); // a step that is under way is not left
    this.forget();
    await this.#letGo?.();
  }

  /** Says one token of anything. */
  async warmUp(): Promise<void> {
    const { model } = this.#trained;
    const { value: speaker, release } = await speakerFor(this.#trained);
    const prompt = { ids: [0], ...(readsSource(model) && { source: Int32Array.of(0) }) };
    const speech = speaker.begin();
    const [{ total }] = await speech.join([prompt]);
    await speech.next([0]);
    await release();
    if (!Number.isFinite(total)) throw new NonFiniteError(notNumbers);
  }

  /** Writes until all texts are there; all of it is told on the way. */
  async write(ask: WriteAsk, job: WritingJob): Promise<null> {
    const trained = this.#trained;
    warnUnrounded(trained, job.warn);
    const prompts = ask.prompts.map((given) => askedPrompt(given, trained, { strict: ask.strict, warn: job.warn }));
    const all = ask.samples * prompts.reduce((sum, { prompt }) => sum + prompt.ids.length, 0);
    if (all > mostPrompted)
      throw new DataError(`${all} tokens of prompts are too many for one request`, { code: "data.too-much", path: "prompt" });
    if (ask.beams !== undefined && ask.beams > 1) return this.#best(ask, prompts, job);
    const begun = await this.#begun(ask, prompts, job.signal);
    job.signal.throwIfAborted();
    if (ask.tokens === 0) return this.#nothing(ask, begun, job);
    if (ask.form) this.#formsOf ??= (await import("../generation/forms.ts")).formsOf;
    const batch = await this.#started();
    job.signal.throwIfAborted();
    const placed = this.#placed(ask, prompts);
    if (placed.size === 0) return null;
    await new Promise<void>((resolve, reject) => {
      const cancel = () => end(job.signal.reason);
      const end = (error?: unknown) => {
        job.signal.removeEventListener("abort", cancel);
        for (const request of placed.keys()) if (this.#open.delete(request)) batch.remove(request);
        if (error === undefined) resolve();
        else reject(error);
      };
      let isBegun = false;
      const begin = () => {
        if (!isBegun) job.begun(begun);
        isBegun = true;
      };
      const open: Open = { ask, job, placed, left: placed.size, begin, end };
      job.signal.addEventListener("abort", cancel);
      for (const request of placed.keys()) {
        this.#open.set(request, open);
        batch.add(request);
      }
      void this.#run(batch);
    });
    return null;
  }

  /** The batch, in sessions that stay. */
  #started(): Promise<RunningBatch> {
    this.#batch ??= speakerFor(this.#trained).then(
      ({ value, release }) => {
        const { rows, piece, share = true } = this.#options;
        this.#letGo = release;
        if (share)
          this.#prefixes = new Prefixes(() => (this.room === undefined ? usualShared : Math.min(mostShared, this.room / sharedPart)));
        this.#known = new RunningBatch(value, {
          ...(rows !== undefined && { rows }),
          ...(piece !== undefined && { piece }),
          ...(this.#prefixes && { prefixes: this.#prefixes }),
          memory: () => this.room,
          begun: (request) => this.#open.get(request)?.begin(),
        });
        return this.#known;
      },
      (error) => {
        this.#batch = undefined;
        throw error;
      },
    );
    return this.#batch;
  }

  async #run(batch: RunningBatch): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    try {
      while (batch.size > 0) {
        for (const said of await batch.step()) this.#heard(said, batch);
        await pause(); // whoever asks, or asks no more, is heard
      }
    } catch (error) {
      for (const { end } of new Set(this.#open.values())) end(error);
    } finally {
      this.#running = false;
    }
  }

  /** Whatever goes wrong with the text of one is nobody else's. */
  #heard(said: Said, batch: RunningBatch): void {
    try {
      this.#hear(said, batch);
    } catch (error) {
      this.#open.get(said.request)?.end(error);
    }
  }

  #hear(said: Said, batch: RunningBatch): void {
    const open = this.#open.get(said.request);
    const one = open?.placed.get(said.request);
    if (!open || !one) return;
    if (said.error) {
      open.end(said.error);
      return;
    }
    const { writing, prompt, sample } = one;
    const text = writing.hear(said);
    if (said.token !== undefined) one.count++;
    const { finish } = writing;
    open.job.piece({
      prompt,
      sample,
      text,
      count: one.count,
      ...(open.ask.top !== undefined && this.#told(said)),
      ...(finish && { finish }),
    });
    if (!finish) return;
    this.#open.delete(said.request);
    batch.remove(said.request);
    open.left--;
    if (open.left === 0) open.end();
  }

  #placed(ask: WriteAsk, prompts: readonly AskedPrompt[]): Map<Request, Placed> {
    const { samples, seed, top, sampling } = ask;
    const forbids = (value: number) => (value <= -largestBias ? Number.NEGATIVE_INFINITY : value);
    const settings = { ...sampling, bias: new Map(sampling.bias?.map(([id, value]) => [id, forbids(value)])) };
    const all = new Map<Request, Placed>();
    for (const [i, { prompt, stop }] of prompts.entries())
      for (let sample = 0; sample < samples; sample++) {
        const writing = new Writing(this.#trained, prompt, {
          tokens: ask.tokens ?? this.#roomAfter(prompt),
          sampling: settings,
          seed,
          sample,
          stop: [...ask.stop, ...stop],
          ...(top !== undefined && { top }),
          ...(ask.form && { constraint: this.#constraint(ask.form, prompt) }),
        });
        all.set(writing.request, { writing, prompt: i, sample, count: 0 });
      }
    return all;
  }

  /** Follows one answer. What ends it is what ends a text of this prompt. */
  #constraint(form: Form, prompt: EndedPrompt): Constraint {
    const { tokenizer, model } = this.#trained;
    const own = [...(tokenizer.end === undefined ? [] : [tokenizer.end]), ...endsOf(tokenizer, [prompt])];
    this.#forms ??= this.#formsOf?.({ tokenizer, rows: model.vocab, ends: own });
    if (!this.#forms) throw new ConfigError("forms were asked for before they were loaded");
    return "json" in form ? this.#forms.json(own) : this.#forms.schema(form.schema, own);
  }

  /** What the context has room for. */
  #roomAfter({ ids, source }: EndedPrompt): number {
    const { model } = this.#trained;
    if (model.model === "rnn" && model.task === "lm") return usualMost;
    return Math.max(1, Math.min(usualMost, source ? model.context : model.context - ids.length));
  }

  /** How long prompts are, and what they say, where that is asked for. */
  async #begun(
    { echo = false, top, samples, prompts: given }: WriteAsk,
    prompts: readonly AskedPrompt[],
    signal: AbortSignal,
  ): Promise<Begun> {
    const { model, tokenizer } = this.#trained;
    if (echo && readsSource(model))
      throw new ConfigError(sentence`this model answers a source and does not go on with it, so there is nothing for ${setting("echo")}`, {
        path: "echo",
      });
    const told = samples * ((top ?? 0) + 1) * prompts.reduce((sum, { prompt }) => sum + prompt.ids.length, 0);
    if (echo && top !== undefined && told > mostTold)
      throw new DataError(
        sentence`${told} tokens with their scores are too many to be told; ask for fewer, or leave out ${setting("echo")}`,
        {
          code: "data.too-much",
          path: "prompt",
        },
      );
    const found: Begun["prompts"][number][] = [];
    for (const [i, { prompt }] of prompts.entries()) {
      const ids = Array.from(prompt.source ?? prompt.ids);
      const own = given[i];
      const text = typeof own === "string" ? own : tokenizer.decode(ids);
      const score = () => this.#scored(own === "" ? [] : ids, top ?? 0, signal); // what begins an empty text is not part of it
      const scored = echo && top !== undefined ? await this.#queue.run(score, signal) : undefined;
      found.push({ tokens: ids.length, ...(echo && { text }), ...(scored && { scored }) });
    }
    return { prompts: found };
  }

  /** What the model makes of each token of a prompt. */
  async #scored(ids: readonly number[], top: number, signal: AbortSignal): Promise<NonNullable<Begun["prompts"][number]["scored"]>> {
    if (ids.length === 0) return [];
    const { vocab, context } = this.#trained.model;
    if (ids.length * vocab > mostScores || ids.length > Math.max(context, fewestScored))
      throw new DataError(
        `${ids.length} tokens × ${vocab} scores of each are too many to be told; ask for a shorter prompt, or without it`,
        {
          code: "data.too-much",
        },
      );
    const row = (values: readonly number[]) => array("int32", Int32Array.from(values), [1, values.length]);
    const feeds = { ids: row(ids), targets: row([...ids.slice(1), -1]) };
    const { logProbabilities } = await answersOf(this.#trained, { feeds, tokens: [], signal });
    const rows = rowsOf(logProbabilities);
    const turns = new Turns(signal);
    const told: NonNullable<Begun["prompts"][number]["scored"]>[number][] = [];
    for (const [i, id] of ids.entries()) {
      const scores = rows[i - 1];
      told.push(
        scores
          ? this.#token(id, scores[id], likeliest({ scores, total: 0 }, top))
          : { ...this.#named(id, 0), logProbability: null, top: [] },
      );
      if (turns.over) await turns.rest();
    }
    return told;
  }

  /** The token, or the end of the text. */
  #told({ token, logProbability, top, total }: SaidToken): Pick<Piece, "tokens" | "ended"> {
    if (token !== undefined) return { tokens: [{ ...this.#token(token, logProbability, top), total }] };
    return { ended: { logProbability, top: this.#many(top), total } };
  }

  #named(id: number, logProbability: number): Omit<ToldToken, "top" | "total"> {
    this.#names ??= tokenNames(this.#trained.tokenizer);
    return { id, ...this.#names(id), logProbability };
  }

  #token(id: number, logProbability: number, top?: readonly Likely[]): ToldToken {
    return { ...this.#named(id, logProbability), top: this.#many(top) };
  }

  #many(top: readonly Likely[] = []): ToldToken["top"] {
    return top.map((one) => this.#named(one.token, one.logProbability));
  }

  /** Prompts alone, for whoever wants them scored. */
  #nothing({ samples }: WriteAsk, begun: Begun, job: WritingJob): null {
    job.begun(begun);
    for (const prompt of begun.prompts.keys())
      for (let sample = 0; sample < samples; sample++) job.piece({ prompt, sample, text: "", count: 0, finish: "length" });
    return null;
  }

  /** Beams are compared as wholes, so nothing is known before the end. */
  async #best(ask: WriteAsk, prompts: readonly AskedPrompt[], job: WritingJob): Promise<null> {
    const { beams = 1, lengthPenalty, samples, top } = ask;
    if ((top ?? 0) > 0 || ask.form)
      throw new ConfigError(
        sentence`${ask.form ? "the form of an answer" : "what else could have come at each place"} is for texts that are drawn; leave out ${setting("beams")}`,
        {
          code: "config.conflict",
          path: "beams",
        },
      );
    const begun = await this.#begun(ask, prompts, job.signal);
    const stop = [...ask.stop, ...prompts.flatMap((one) => one.stop)];
    const asked = prompts.map(({ prompt }, i) => {
      const given = ask.prompts[i];
      return this.#trained.chat && typeof given === "object" && typeof given[0] === "object"
        ? (given as never)
        : Int32Array.from(prompt.source ?? prompt.ids);
    });
    const tokens = ask.tokens ?? Math.min(...prompts.map(({ prompt }) => this.#roomAfter(prompt)));
    const options = { beams, lengthPenalty, samples, tokens, stop, strict: ask.strict, signal: job.signal };
    const search = async () => {
      job.begun(begun);
      const count = await this.#searchedAtOnce(prompts, beams, tokens);
      for (let first = 0; first < asked.length; first += count)
        for (const [i, found] of (await writeBest(this.#trained, asked.slice(first, first + count), options)).entries())
          for (const [sample, one] of found.entries()) job.piece({ prompt: first + i, sample, ...this.#whole(one, top !== undefined) });
      return null;
    };
    return this.#queue.run(search, job.signal);
  }

  /** How many prompts are searched for together: as many as there is memory for, each with all its beams. */
  async #searchedAtOnce(prompts: readonly AskedPrompt[], beams: number, tokens: number): Promise<number> {
    const { value: speaker, release } = await speakerFor(this.#trained);
    await release();
    const most = (of: (prompt: EndedPrompt) => number) => prompts.reduce((found, { prompt }) => Math.max(found, of(prompt)), 0);
    const row = {
      tokens: Math.min(speaker.longest, most(({ ids }) => ids.length) + tokens),
      source: most(({ source }) => source?.length ?? 0),
    };
    const room = this.room === undefined ? undefined : this.room - (this.#prefixes?.bytes ?? 0);
    for (let count = Math.max(1, Math.floor(rowsOfBeams / beams)); count > 0; count--)
      if (speaker.fits?.(new Array<typeof row>(count * beams).fill(row), room) !== false) return count;
    throw new DataError(
      sentence`${beams} texts of ${row.tokens} tokens take more memory than there is for them; ask for fewer ${setting("beams")}`,
      {
        code: "memory",
      },
    );
  }

  #whole({ text, tokens, finish, logProbability: all }: Sample, told: boolean): Omit<Piece, "prompt" | "sample"> {
    const each = tokens.map(({ id, logProbability }) => this.#token(id, logProbability));
    const rest = all - tokens.reduce((sum, { logProbability }) => sum + logProbability, 0); // of the end
    const ended = finish === "end" ? { ended: { logProbability: Math.min(0, rest), top: [] } } : {};
    return { text, count: tokens.length, finish, ...(told && { tokens: each, ...ended }) };
  }
}
