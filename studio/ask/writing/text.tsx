import { Component } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { percent } from "../../parts/numbers.ts";
import type { ShownToken } from "./branches.ts";
import { doubtOf } from "./doubt.ts";

// Written text, token by token: the less likely one was, the stronger the line under it.

export interface WrittenTextProps {
  readonly prompt: readonly ShownToken[];
  readonly tokens: readonly ShownToken[];
  /** Shown as a token of its own: the model ended the text. */
  readonly end?: { readonly logProbability: number };
  readonly isWriting: boolean;
  /** Places count from the first token of the prompt. */
  readonly pointed: number | undefined;
  readonly pinned: number | undefined;
  /** Places where branches leave. */
  readonly forks: ReadonlySet<number>;
  readonly point: (place: number | undefined) => void;
  readonly pin: (place: number | undefined) => void;
}

export function WrittenText({ prompt, tokens, end, isWriting, pointed, pinned, forks, point, pin }: WrittenTextProps) {
  const box = useRef<HTMLDivElement>(null);
  const all = [...prompt, ...tokens];
  const count = all.length + (end ? 1 : 0);
  useEffect(() => {
    const { current } = box;
    if (isWriting && current) current.scrollTop = current.scrollHeight; // what is written now is seen, inside the box
  }, [tokens.length, isWriting]);
  const at = pointed ?? pinned;
  const keys = (event: KeyboardEvent) => {
    const from = at ?? prompt.length - 1;
    const to = { ArrowRight: from + 1, ArrowLeft: from - 1, Home: 0, End: count - 1 }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      const next = Math.min(count - 1, Math.max(0, to));
      point(next);
      box.current?.querySelector(`#token-${next}`)?.scrollIntoView({ block: "nearest" });
    } else if ((event.key === "Enter" || event.key === " ") && at !== undefined) {
      event.preventDefault();
      pin(at === pinned ? undefined : at);
    } else if (event.key === "Escape") {
      point(undefined);
      pin(undefined);
    }
  };
  const placeOf = ({ target }: Event): number | undefined => {
    const found = target instanceof HTMLElement ? target.closest<HTMLElement>("[data-place]") : null;
    return found ? Number(found.dataset.place) : undefined;
  };
  return (
    <div
      class="token-text"
      role="listbox"
      aria-label="The text, token by token. Arrow keys lead from token to token, Enter keeps one."
      aria-activedescendant={at === undefined || at >= count ? undefined : `token-${at}`}
      aria-busy={isWriting}
      tabIndex={0}
      dir="auto"
      ref={box}
      onKeyDown={keys}
      onPointerOver={(event) => point(placeOf(event))}
      onPointerLeave={() => point(undefined)}
      onClick={(event) => {
        const place = placeOf(event);
        if (place !== undefined) pin(place === pinned ? undefined : place);
      }}
    >
      {all.map((token, place) => (
        <Token
          key={place}
          token={token}
          place={place}
          of={place < prompt.length ? "prompt" : "text"}
          look={`${place === pinned ? "pinned " : ""}${place === pointed ? "lit " : ""}${forks.has(place) ? "fork" : ""}`}
        />
      ))}
      {end && (
        <span
          id={`token-${all.length}`}
          data-place={all.length}
          role="option"
          tabIndex={-1}
          aria-selected={pinned === all.length}
          class={`word end ${pinned === all.length ? "pinned" : ""} ${pointed === all.length ? "lit" : ""}`}
        >
          end · {percent(Math.exp(end.logProbability))}
        </span>
      )}
    </div>
  );
}

interface TokenProps {
  readonly token: ShownToken;
  readonly place: number;
  readonly of: "prompt" | "text";
  readonly look: string;
}

/** Drawn again only when something about it changed: there may be many, and a new one comes every few milliseconds. */
class Token extends Component<TokenProps> {
  override shouldComponentUpdate({ token, place, of, look }: TokenProps): boolean {
    const { props } = this;
    return token !== props.token || place !== props.place || of !== props.of || look !== props.look;
  }

  override render({ token: { text, logProbability }, place, of, look }: TokenProps) {
    const [before, ...after] = text.split("\n");
    const sure = logProbability === null ? "" : `, ${percent(Math.exp(logProbability))}`;
    return (
      <span
        id={`token-${place}`}
        data-place={place}
        role="option"
        tabIndex={-1}
        aria-selected={look.includes("pinned")}
        aria-label={`${text.trim() === "" ? JSON.stringify(text) : text}${sure}`}
        class={`word ${of} ${look}`}
        style={{ "--doubt": doubtOf(logProbability).toFixed(2) }}
      >
        {before}
        {after.map((line) => (
          <>
            <span class="blank">↵</span>
            {"\n"}
            {line}
          </>
        ))}
      </span>
    );
  }
}
