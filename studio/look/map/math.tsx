import type { ComponentChildren } from "preact";
import type { Term } from "./formula.ts";

// A formula as MathML: browsers set it, and screen readers say it.

const operator = /^[=+−·∘←()[\];,>≤≥|Σ…]$/;
const number = /^(−?∞|[\d.]+( × [\d.]+)*)$/;

function Leaf({ text }: { readonly text: string }) {
  if (operator.test(text)) return <mo>{text}</mo>;
  if (number.test(text)) return <mn>{text}</mn>;
  return text.length > 1 && /^[a-z ]+$/.test(text) && !/^(ij|tj)$/.test(text) ? (
    <mtext>{/^(for|or)$/.test(text) ? ` ${text} ` : text}</mtext>
  ) : (
    <mi>{text}</mi>
  );
}

function Shown({ term }: { readonly term: Term }): ComponentChildren {
  if (typeof term === "string") return <Leaf text={term} />;
  if (term.kind === "row")
    return (
      <mrow>
        {term.of.map((one, i) => (
          <Shown key={i} term={one} />
        ))}
      </mrow>
    );
  const of = <Shown term={term.of} />;
  if (term.kind === "root") return <msqrt>{of}</msqrt>;
  const by = <Shown term={term.by} />;
  switch (term.kind) {
    case "sub":
      return (
        <msub>
          {of}
          {by}
        </msub>
      );
    case "sup":
      return (
        <msup>
          {of}
          {by}
        </msup>
      );
    case "fraction":
      return (
        <mfrac>
          {of}
          {by}
        </mfrac>
      );
    case "under":
      return (
        <mrow>
          <munder>
            {of}
            <mn class="size">{typeof term.by === "string" ? term.by : ""}</mn>
          </munder>
          <mspace width="0.25em" />
        </mrow>
      );
  }
}

export const Formula = ({ term }: { readonly term: Term }) => (
  <div class="scroll formula">
    <math displaystyle={true}>
      <Shown term={term} />
    </math>
  </div>
);
