import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { inkOn, type Rgb } from "../../src/pictures/colour.ts";

// The text, token by token. Pointing at one lights up what belongs to it everywhere on the page; a click pins it.

/** The place of the token that is pointed at, in the text of this place. */
export const pointed = signal<number | undefined>(undefined);
/** The same of the source, where one text is read and another is written. */
export const pointedSource = signal<number | undefined>(undefined);

/** Spaces and ends of lines are to be seen. */
export const visible = (token: string): readonly { readonly text: string; readonly isBlank: boolean }[] =>
  [...token.matchAll(/[ \t\n\r]+|[^ \t\n\r]+/g)].map(([text]) =>
    /^\s/.test(text)
      ? { text: text.replaceAll(" ", "·").replaceAll("\n", "↵").replaceAll("\t", "⇥").replaceAll("\r", "␍"), isBlank: true }
      : { text, isBlank: false },
  );

export const TokenText = ({ token }: { readonly token: string }) => (
  <>
    {token === "" ? <span class="blank">∅</span> : null}
    {visible(token).map(({ text, isBlank }) => (isBlank ? <span class="blank">{text}</span> : text))}
  </>
);

export interface TokenStripProps {
  readonly tokens: readonly string[];
  readonly label: string;
  readonly pinned?: number;
  readonly pin?: (place: number | undefined) => void;
  /** The colour behind each token, by what is asked. */
  readonly colour?: (place: number) => Rgb | undefined;
  /** What pointing at a token says of it. */
  readonly title?: (place: number) => string;
  /** Where several strips stand on one page, each lights up its own tokens. */
  readonly hover?: { value: number | undefined };
}

export function TokenStrip({ tokens, label, pinned, pin, colour, title, hover = pointed }: TokenStripProps) {
  const [reached, setReached] = useState(0); // Tab leads to one of them, and on from it: there may be hundreds
  const first = Math.min(reached, tokens.length - 1);
  const walk = (event: KeyboardEvent) => {
    if (!(event.target instanceof HTMLElement)) return;
    const item = event.target.parentElement;
    const list = item?.parentElement;
    const next = {
      ArrowRight: item?.nextElementSibling,
      ArrowLeft: item?.previousElementSibling,
      Home: list?.firstElementChild,
      End: list?.lastElementChild,
    }[event.key];
    const button = next?.querySelector("button");
    if (!button) return;
    event.preventDefault();
    event.stopPropagation();
    button.focus();
  };
  return (
    <ol class="tokens" aria-label={label} onKeyDown={walk} onPointerLeave={() => (hover.value = undefined)}>
      {tokens.map((token, place) => {
        const behind = colour?.(place);
        return (
          <li key={place}>
            <button
              type="button"
              class={hover.value === place ? "token lit" : "token"}
              tabIndex={place === first ? 0 : -1}
              aria-pressed={pin ? pinned === place : undefined}
              title={title?.(place)}
              style={behind ? { background: `rgb(${behind.join(" ")})`, color: inkOn(behind) } : undefined}
              onPointerEnter={() => (hover.value = place)}
              onFocus={() => {
                setReached(place);
                hover.value = place;
              }}
              onBlur={() => (hover.value = undefined)}
              onClick={() => pin?.(pinned === place ? undefined : place)}
            >
              <TokenText token={token} />
            </button>
          </li>
        );
      })}
    </ol>
  );
}
