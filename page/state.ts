import type { PageAnswers, PageData, PageHead, PageLook } from "../src/pictures/page-data.ts";
import { meanOf, type Pattern, patternOf } from "./pattern.ts";

// What is looked at. Everything on the page is drawn from this, and only `Viewer` changes it.

/** A query, a key, or the cell where the two meet. */
export interface Spot {
  readonly query?: number;
  readonly key?: number;
}

type Listener = () => void;

export class Viewer {
  readonly data: PageData;
  look: PageLook;
  /** Places in the lists of layers and heads; -1 is the mean of all heads. */
  layer = 0;
  head = 0;
  pattern: Pattern;
  #hovered: Spot | undefined;
  #pinned: Spot | undefined;
  readonly #onHead: Listener[] = [];
  readonly #onSpot: Listener[] = [];

  constructor(data: PageData) {
    this.data = data;
    this.look = data.looks[0];
    this.pattern = patternOf(this.look, this.look.layers[0].heads[0]);
    this.#pinned = undefined;
  }

  /** The answers that belong to the queries that are shown. */
  get answers(): PageAnswers | undefined {
    const { answers } = this.data;
    return answers?.kinds.includes(this.look.kind) ? answers : undefined;
  }

  /** What is pointed at, or else what is pinned, or else the last query. */
  get spot(): Spot {
    return this.#hovered ?? this.#pinned ?? { query: this.look.targetTokens.length - 1 };
  }

  /** Whether somebody chose what is shown. */
  get isChosen(): boolean {
    return this.#hovered !== undefined || this.#pinned !== undefined;
  }

  get pinned(): Spot | undefined {
    return this.#pinned;
  }

  get heads(): readonly PageHead[] {
    return this.look.layers[this.layer].heads;
  }

  /** The head that is shown, or none where it is the mean of all. */
  get shown(): PageHead | undefined {
    return this.heads[this.head];
  }

  whenHeadChanges(listener: Listener): void {
    this.#onHead.push(listener);
  }

  whenSpotChanges(listener: Listener): void {
    this.#onSpot.push(listener);
  }

  chooseLook(index: number): void {
    const look = this.data.looks[index];
    if (look === undefined) return;
    this.look = look;
    this.#hovered = undefined;
    this.#pinned = undefined;
    this.chooseHead(Math.min(this.layer, look.layers.length - 1), this.head);
  }

  chooseHead(layer: number, head: number): void {
    const { heads } = this.look.layers[layer] ?? this.look.layers[0];
    this.layer = this.look.layers[layer] === undefined ? 0 : layer;
    this.head = head === -1 && heads.length > 1 ? -1 : Math.min(Math.max(0, head), heads.length - 1);
    this.pattern = this.head === -1 ? meanOf(this.look, heads) : patternOf(this.look, heads[this.head]);
    for (const listener of this.#onHead) listener();
    this.#tell();
  }

  hover(spot: Spot | undefined): void {
    const [before, now] = [this.#hovered, spot];
    if (before?.query === now?.query && before?.key === now?.key && (before === undefined) === (now === undefined)) return;
    this.#hovered = spot;
    this.#tell();
  }

  /** Keeps a spot when the pointer leaves; the same spot again lets it go. */
  pin(spot: Spot | undefined): void {
    const same = spot !== undefined && this.#pinned?.query === spot.query && this.#pinned?.key === spot.key;
    this.#pinned = same ? undefined : spot;
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#onSpot) listener();
  }
}
