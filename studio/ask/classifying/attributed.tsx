import type { Attribution } from "../../../src/inspection/attribution.ts";
import { address, put } from "../../address.ts";
import { TokenText } from "../../parts/token-strip.tsx";
import { Switch } from "../switch.tsx";

// Tokens coloured by what they did to an answer: orange spoke for it, blue against.

const methods = {
  without: {
    key: "leaveOneOut",
    label: "Left out",
    words: "How much less likely the answer is without the token, in points of a hundred.",
    shown: (value: number) => `${value > 0 ? "+" : ""}${(100 * value).toFixed(1)}`,
  },
  gradient: {
    key: "gradient",
    label: "Gradient × input",
    words: "How much the token pushes the answer's log-odds, by the gradient, in nats.",
    shown: (value: number) => `${value > 0 ? "+" : ""}${value.toFixed(2)}`,
  },
} as const;

export function Attributed({ found: { parts } }: { readonly found: Attribution }) {
  const by = address.value.params.by === "gradient" ? "gradient" : "without";
  const method = methods[by];
  const most = Math.max(1e-9, ...parts.flatMap((part) => part[method.key].map(Math.abs)));
  return (
    <div class="stack">
      <Switch
        label="How it is found"
        ways={{ without: methods.without.label, gradient: methods.gradient.label }}
        chosen={by}
        choose={(name) => put({ by: name === "gradient" ? name : undefined })}
      />
      {parts.map((part) => (
        <ol key={part.of} class="attributed" aria-label={`Tokens of the ${part.of}`}>
          {part.tokens.map((token, place) => {
            const value = part[method.key][place];
            const share = Math.abs(value) / most;
            return (
              <li key={place} class={value < 0 ? "against" : "for"} style={{ "--share": share.toFixed(2) }}>
                <span class="mono">
                  <TokenText token={token} />
                </span>
                <small>{method.shown(value)}</small>
              </li>
            );
          })}
        </ol>
      ))}
      <p class="soft small">
        {method.words} <span class="swatch for" /> spoke for it, <span class="swatch against" /> against it.
      </p>
    </div>
  );
}
