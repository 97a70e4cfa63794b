import { visible } from "../../src/pictures/label.ts";
import { alignedPercent, percent } from "../../src/pictures/number.ts";
import { create, perFrame } from "../dom.ts";

// Written text, token by token: each is an element with a line under it, the stronger the less likely it was, and tells what else could
// have come in its place.

export interface Likely {
  readonly text: string;
  readonly logProbability: number;
}

export interface Token extends Likely {
  /** What could have come here, the likeliest first. */
  readonly top: readonly Likely[];
}

/** The text of one or more tokens: several, where only together they are a character. */
interface Piece {
  readonly text: string;
  readonly tokens: readonly Token[];
}

/** As unlikely as this, or more, is drawn with the strongest line. */
const strongest = 1e-3;

/** How strong the line is: 0 for what had to come, 1 for one in a thousand. */
export const doubtOf = (logProbability: number): number => Math.min(1, Math.max(0, logProbability / Math.log(strongest)));

export class TokenText {
  readonly element: HTMLElement;
  readonly #hints: Hints;
  readonly #pieces: Piece[] = [];
  readonly #show = perFrame(() => this.flush());
  readonly #end = create("span", { class: "caret", "aria-hidden": "true" });
  /** Tokens whose text is not there yet: it may be half a character, or the beginning of what ends the text. */
  #waiting: Token[] = [];
  #shown = 0;
  #active = -1;
  text = "";
  count = 0;

  constructor(hints: Hints, label: string) {
    this.#hints = hints;
    this.element = create("div", {
      class: "tokens",
      role: "listbox",
      "aria-label": label,
      "aria-orientation": "horizontal",
      tabindex: "-1",
    });
    this.element.append(this.#end);
    this.element.addEventListener("pointerover", ({ target }) => this.#point(this.#indexOf(target)));
    this.element.addEventListener("pointerleave", () => this.#point(-1));
    this.element.addEventListener("click", ({ target }) => this.#point(this.#indexOf(target)));
    this.element.addEventListener("keydown", (event) => this.#key(event));
    this.element.addEventListener("focus", () => {
      if (this.element.matches(":focus-visible")) this.#point(Math.max(0, this.#active), true);
    });
    this.element.addEventListener("blur", () => this.#point(-1));
  }

  /** More text, and the tokens that were chosen meanwhile. */
  add(text: string, tokens: readonly Token[]): void {
    this.text += text;
    this.count += tokens.length;
    this.#waiting.push(...tokens);
    if (text === "") return;
    this.#pieces.push(...piecesOf(text, this.#waiting));
    this.#waiting = [];
    this.#show();
  }

  /** Nothing more comes. Tokens without a text of their own belong to what ended it. */
  end(): void {
    if (this.#waiting.length > 0) this.#pieces.push({ text: "", tokens: this.#waiting });
    this.#waiting = [];
    this.flush();
    this.#end.remove();
    this.element.tabIndex = this.#pieces.some(({ tokens }) => tokens.length > 0) ? 0 : -1;
  }

  /** Shows what has come since the last time. */
  flush(): void {
    const fresh = this.#pieces.slice(this.#shown).map((piece, i) => elementOf(piece, this.#shown + i));
    this.#shown = this.#pieces.length;
    this.#end.before(...fresh);
    this.element.dispatchEvent(new Event("grown", { bubbles: true }));
  }

  #indexOf(target: EventTarget | null): number {
    const element = target instanceof Element ? target.closest<HTMLElement>("[data-index]") : null;
    return element === null ? -1 : Number(element.dataset.index);
  }

  #at(index: number): HTMLElement | undefined {
    const found = this.element.children[index];
    return found instanceof HTMLElement && found.dataset.index !== undefined ? found : undefined;
  }

  #point(index: number, scroll = false): void {
    const before = this.#at(this.#active);
    before?.classList.remove("active");
    before?.removeAttribute("aria-selected");
    this.element.removeAttribute("aria-activedescendant");
    const [element, piece] = [this.#at(index), this.#pieces[index]];
    if (!element || !piece || piece.tokens.length === 0) {
      this.#hints.hide();
      return;
    }
    this.#active = index;
    element.classList.add("active");
    element.id = "active-token";
    if (before && before !== element) before.removeAttribute("id");
    element.setAttribute("aria-selected", "true");
    element.setAttribute("aria-label", piece.tokens.map(sentenceOf).join(". "));
    this.element.setAttribute("aria-activedescendant", element.id);
    if (scroll) element.scrollIntoView({ block: "nearest" });
    this.#hints.show(element, piece.tokens);
  }

  #key(event: KeyboardEvent): void {
    const last = this.#shown - 1;
    const targets: Readonly<Record<string, number>> = {
      ArrowRight: this.#active + 1,
      ArrowLeft: this.#active - 1,
      Home: 0,
      End: last,
      PageDown: this.#active + 20,
      PageUp: this.#active - 20,
    };
    const target = targets[event.key];
    if (target === undefined || event.ctrlKey || event.metaKey || event.altKey) {
      if (event.key === "Escape") this.#hints.hide();
      return;
    }
    event.preventDefault();
    this.#point(Math.min(last, Math.max(0, target)), true);
  }
}

/** Which of a text belongs to which token. What cannot be told apart, such as the halves of a character, stays together. */
export function piecesOf(text: string, tokens: readonly Token[]): Piece[] {
  const pieces: Piece[] = [];
  let [rest, open]: [string, Token[]] = [text, []];
  for (const [i, token] of tokens.entries()) {
    const isLast = i === tokens.length - 1;
    if (!isLast && open.length === 0 && token.text !== "" && rest.startsWith(token.text)) {
      pieces.push({ text: token.text, tokens: [token] });
      rest = rest.slice(token.text.length);
    } else open.push(token);
  }
  if (rest !== "" || open.length > 0) pieces.push({ text: rest, tokens: open });
  return pieces;
}

function elementOf({ text, tokens }: Piece, index: number): HTMLElement {
  if (tokens.length === 0) return create("span", {}, text);
  const kinds = ["token", ...(text.endsWith("\n") ? ["newline"] : []), ...(text === "" ? ["ending"] : [])];
  const element = create("span", { class: kinds.join(" "), role: "option", "data-index": `${index}` }, text);
  const least = Math.min(...tokens.map(({ logProbability }) => logProbability));
  element.style.setProperty("--doubt", doubtOf(least).toFixed(3));
  return element;
}

const sentenceOf = ({ text, logProbability, top }: Token): string => {
  const others = top.map((one) => `${visible(one.text)} ${percent(Math.exp(one.logProbability))}`);
  return `${visible(text)}, ${percent(Math.exp(logProbability))}${others.length > 0 ? `; likeliest: ${others.join(", ")}` : ""}`;
};

/** With several tokens in one place, each has less room. */
const mostOfSeveral = 2;

/** What is shown beside a token that is pointed at. There is one for the page. */
export class Hints {
  readonly element = create("div", { class: "hint", role: "tooltip" });
  #beside: HTMLElement | undefined;

  constructor() {
    this.element.hidden = true;
    const follow = () => {
      if (!this.element.hidden && this.#beside) this.#place(this.#beside);
    };
    document.addEventListener("scroll", follow, { capture: true, passive: true });
    addEventListener("resize", follow);
  }

  hide(): void {
    this.element.hidden = true;
  }

  show(beside: HTMLElement, tokens: readonly Token[]): void {
    const rows = tokens.flatMap((token) => this.#rows(token, tokens.length > 1 ? mostOfSeveral : token.top.length));
    const note = tokens.length > 1 ? [create("caption", {}, `${tokens.length} tokens, of which only all together are text`)] : [];
    this.element.replaceChildren(create("table", {}, ...note, create("tbody", {}, ...rows)));
    this.element.hidden = false;
    this.#beside = beside;
    this.#place(beside);
  }

  #rows(token: Token, most: number): HTMLElement[] {
    const others = token.top.slice(0, most);
    const isAmong = others.some((one) => isSame(one, token));
    const first = isAmong ? [] : [row(token, "chosen")];
    return [...others.map((one) => row(one, isSame(one, token) ? "chosen" : "")), ...first];
  }

  /** Below the first line of the token, or above it where there is no room. */
  #place(beside: HTMLElement): void {
    const [box] = beside.getClientRects();
    if (box === undefined) {
      this.hide();
      return;
    }
    const { offsetWidth: width, offsetHeight: height } = this.element;
    const { clientWidth, clientHeight } = document.documentElement;
    const left = Math.max(8, Math.min(box.left - 8, clientWidth - width - 8));
    const below = box.bottom + 6;
    const top = below + height > clientHeight - 8 && box.top - height - 6 > 0 ? box.top - height - 6 : below;
    this.element.style.setProperty("left", `${left}px`);
    this.element.style.setProperty("top", `${top}px`);
  }
}

const isSame = (one: Likely, token: Token): boolean =>
  one.text === token.text && Math.abs(one.logProbability - token.logProbability) < 1e-4;

/** A name, a bar and a number. */
export function row({ text, logProbability }: Likely, kind = ""): HTMLElement {
  return barRow(visible(text), Math.exp(logProbability), kind);
}

export function barRow(name: string, share: number, kind = ""): HTMLElement {
  const bar = create("span", { class: "bar" });
  bar.style.setProperty("--share", `${share}`);
  return create(
    "tr",
    kind === "" ? {} : { class: kind },
    create("th", { scope: "row" }, create("bdi", {}, name)),
    create("td", { class: "share" }, bar),
    create("td", { class: "number" }, alignedPercent(share)),
  );
}
