import { batch, type Signal, signal } from "@preact/signals";
import type { GivenPrompt, Piece } from "../../../src/protocol/messages.ts";
import type { Run } from "../../../src/worker/run.ts";
import { messageOf, withModel } from "../../stores/models.ts";
import { type Asked, quiet } from "../asked.ts";
import {
  type BranchTree,
  begun as begunTree,
  branchAt,
  branched,
  endsText,
  foreseen,
  grown,
  noBranches,
  readKept,
  type ShownToken,
  textOf,
  windowsOf,
} from "./branches.ts";
import type { Place } from "./filters.ts";
import type { WriteSettings } from "./settings.ts";

// Who writes: reads a prompt, goes on with it token by token, and keeps every branch.

export type AuthorState = "idle" | "reading" | "writing";

/** Others that are told at each place: all of a small vocabulary, and else enough to see what filters cut. */
const mostTold = 64;
export const toldOf = (vocab: number): number => (vocab <= 2 * mostTold ? vocab : mostTold);

const justMs = 400;

/** A prompt as the model reads it, and what it says of the token after it. */
export interface ReadPrompt {
  readonly given: GivenPrompt;
  readonly tokens: readonly ShownToken[];
  readonly next: Place;
}

export class Author {
  readonly tree: Signal<BranchTree> = signal(noBranches);
  readonly prompt: Signal<ReadPrompt | undefined> = signal(undefined);
  readonly state: Signal<AuthorState> = signal("idle");
  readonly failed: Signal<string | undefined> = signal(undefined);
  /** Token ids that an address was read from, or written to, last. */
  kept = "";
  readonly #asked: Asked;
  #stop: AbortController | undefined;
  #ended = Number.NEGATIVE_INFINITY;

  constructor(asked: Asked) {
    this.#asked = asked;
  }

  get #top(): number {
    return toldOf(this.#asked.facts.vocab);
  }

  stop(): void {
    this.#stop?.abort();
  }

  /** It ended just now, after a while: whoever clicks meant to stop it. */
  get hasJustEnded(): boolean {
    return performance.now() - this.#ended < justMs;
  }

  /** There is nothing to go on with. */
  leave(): void {
    this.stop();
    batch(() => {
      this.prompt.value = undefined;
      this.tree.value = noBranches;
    });
  }

  hasRead(given: GivenPrompt): boolean {
    return JSON.stringify(given) === JSON.stringify(this.prompt.value?.given);
  }

  /** Reads a prompt anew: what was written from another is left. */
  async read(given: GivenPrompt): Promise<void> {
    if (this.hasRead(given)) return;
    await this.#work("reading", async (model, signal) => {
      const prompt = await this.#read(model, given, signal);
      batch(() => {
        if (this.prompt.value) this.tree.value = noBranches;
        this.prompt.value = prompt;
      });
    });
  }

  async #read(model: Run, given: GivenPrompt, signal: AbortSignal): Promise<ReadPrompt> {
    return { given, ...(await this.#after(model, given, signal, true)) };
  }

  /** The token after a prompt, and with `echo` the prompt's own. */
  async #after(model: Run, given: GivenPrompt, signal: AbortSignal, echo = false): Promise<Omit<ReadPrompt, "given">> {
    let [tokens, next]: [readonly ShownToken[], Place] = [[], { top: [] }];
    for await (const piece of model.write(given, { ...quiet, signal, echo, top: this.#top, tokens: 1, temperature: 0 })) {
      tokens = piece.prompt ?? tokens;
      next = piece.tokens[0] ?? piece.ended ?? next;
    }
    return { tokens, next };
  }

  /** Goes on with the text that is read; where there is none, begins one. */
  async goOn(settings: WriteSettings): Promise<void> {
    if (!branchAt(this.tree.value, this.tree.value.chosen)) this.tree.value = begunTree(this.tree.value);
    await this.#write(settings);
  }

  /** Another text from the same prompt. */
  async again(settings: WriteSettings): Promise<void> {
    this.tree.value = begunTree(this.tree.value);
    await this.#write(settings);
  }

  /** Says another token at a place of the text, and goes on from there; what was written before stays. */
  async branch(place: number, token: ShownToken, settings: WriteSettings): Promise<void> {
    if (!branchAt(this.tree.value, this.tree.value.chosen)) this.tree.value = begunTree(this.tree.value);
    const { tree, isNew } = branched(this.tree.value, place, token);
    this.tree.value = tree;
    if (isNew && !endsText(token)) await this.#write(settings);
  }

  choose(number: number): void {
    if (this.state.value !== "writing") this.tree.value = { ...this.tree.value, chosen: number };
  }

  async #write({ tokens, seed, ...sampling }: WriteSettings): Promise<void> {
    const number = this.tree.value.chosen;
    await this.#work("writing", async (model, signal) => {
      const ids = [...(this.prompt.value?.tokens ?? []), ...textOf(this.tree.value, number)].map(({ id }) => id);
      const pieces = new Frames((fresh, ended) => {
        this.tree.value = grown(this.tree.value, number, fresh, ended);
      });
      const written = model.write(ids, { ...quiet, ...sampling, seed, tokens, top: this.#top, signal });
      try {
        for await (const piece of written) pieces.add(piece.tokens, piece.ended);
      } finally {
        pieces.flush();
      }
      await this.#foresee(model, number, signal);
    });
  }

  /** What could come after a branch that the model did not end itself. */
  async #foresee(model: Run, number: number, signal: AbortSignal): Promise<void> {
    if (branchAt(this.tree.value, number)?.ended) return;
    const ids = [...(this.prompt.value?.tokens ?? []), ...textOf(this.tree.value, number)].map(({ id }) => id);
    const { next } = await this.#after(model, ids, signal);
    this.tree.value = foreseen(this.tree.value, number, next);
  }

  /** Branches of an address: their tokens are scored again, and stand as they stood. */
  async restore(given: GivenPrompt, kept: string, chosen: number): Promise<void> {
    const branches = readKept(kept);
    this.kept = kept;
    await this.#work("reading", async (model, signal) => {
      const prompt = await this.#read(model, given, signal);
      const before = prompt.tokens.map(({ id }) => id);
      let tree = noBranches;
      for (const { parent, from, start, ids } of branches) {
        const shared = parent === undefined ? [] : textOf(tree, parent).slice(0, from);
        const all = [...before, ...shared.map(({ id }) => id), ...ids];
        const tokens = await this.#scored(model, all, ids.length, signal);
        const branch = { number: tree.branches.length, ...(parent !== undefined && { parent }), from: shared.length, tokens, start };
        tree = { branches: [...tree.branches, branch], chosen: branch.number };
      }
      batch(() => {
        this.prompt.value = prompt;
        this.tree.value = { ...tree, chosen: chosen < tree.branches.length ? chosen : tree.branches.length - 1 };
      });
      for (const { number } of tree.branches) await this.#foresee(model, number, signal);
    });
  }

  /** The last tokens of a text, scored. What is longer than the context is read in windows, each new token with at least half of one before it. */
  async #scored(model: Run, ids: readonly number[], count: number, signal: AbortSignal): Promise<readonly ShownToken[]> {
    const found: ShownToken[] = [];
    const options = { ...quiet, signal, echo: true, top: this.#top, tokens: 0 };
    for (const { start, end } of windowsOf(ids.length, this.#asked.facts.context)) {
      const known = ids.length - count + found.length;
      if (end <= known) continue;
      for await (const { prompt } of model.write(ids.slice(start, end), options)) if (prompt) found.push(...prompt.slice(known - start));
    }
    return found;
  }

  /** One thing at a time: what comes later ends what was under way. */
  async #work(state: AuthorState, work: (model: Run, signal: AbortSignal) => Promise<void>): Promise<void> {
    this.#stop?.abort();
    const stop = new AbortController();
    const begun = performance.now();
    this.#stop = stop;
    batch(() => {
      this.state.value = state;
      this.failed.value = undefined;
    });
    try {
      await withModel(this.#asked.name, this.#asked.step, (model) => work(model, stop.signal));
    } catch (error) {
      if (!stop.signal.aborted) this.failed.value = messageOf(error);
    } finally {
      const now = performance.now();
      if (state === "writing" && now - begun > justMs) this.#ended = now; // nobody stops what took less
      if (this.#stop === stop) this.state.value = "idle";
    }
  }
}

/** Tokens come faster than a screen shows them: those of one frame are shown together. */
class Frames {
  readonly #show: (tokens: readonly ShownToken[], ended: Piece["ended"]) => void;
  #tokens: ShownToken[] = [];
  #ended: Piece["ended"];
  #frame: number | undefined;

  constructor(show: (tokens: readonly ShownToken[], ended: Piece["ended"]) => void) {
    this.#show = show;
  }

  add(tokens: readonly ShownToken[], ended: Piece["ended"]): void {
    this.#tokens.push(...tokens);
    this.#ended ??= ended;
    this.#frame ??= requestAnimationFrame(() => this.flush());
  }

  flush(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    this.#frame = undefined;
    if (this.#tokens.length > 0 || this.#ended) this.#show(this.#tokens, this.#ended);
    this.#tokens = [];
    this.#ended = undefined;
  }
}
