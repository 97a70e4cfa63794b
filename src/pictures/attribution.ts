import { checkNumbers, checkSome } from "./check.ts";
import { legend, legendHeight } from "./heat.ts";
import { prose, shortened } from "./label.ts";
import { decimal, decimalsFor, percent } from "./number.ts";
import { aroundZero } from "./scale.ts";
import { heading, headingWidth, sheet, text, textWidth } from "./svg.ts";
import { tokenFlow } from "./token-flow.ts";

export interface AttributionPicture {
  readonly answer: { readonly of: string; readonly label: string; readonly probability: number; readonly position?: number };
  readonly parts: readonly {
    readonly of: string;
    readonly tokens: readonly string[];
    readonly gradient: readonly number[];
    readonly leaveOneOut: readonly number[];
  }[];
  readonly title?: string;
}

const room = 820;
const left = 24;
/** Up to so many tokens the numbers are written below them. */
const tokensWithNumbers = 40;

const methods = [
  { key: "gradient", name: "gradient × input", unit: "nats of log-odds: orange for, blue against" },
  { key: "leaveOneOut", name: "leave one out: less likely by so much without the token", unit: "probability: orange for, blue against" },
] as const;

/** What spoke for an answer (orange) and against it (blue), token by token, by both methods. */
export function attributionPicture({ answer, parts, title = titleOf(answer) }: AttributionPicture): string {
  checkSome(title, parts, "tokens");
  let [y, end] = [48, left + 300];
  const drawn: string[] = [];
  for (const { key, name, unit } of methods) {
    for (const part of parts) checkNumbers(`${title}, ${name}`, part[key]);
    const scale = aroundZero(parts.map((part) => [part[key]]));
    const decimals = decimalsFor(scale.high);
    drawn.push(text(name, { x: left, y, size: 12, bold: true }));
    end = Math.max(end, left + textWidth(name.length, 12.5));
    y += 16;
    for (const part of parts) {
      if (parts.length > 1) drawn.push(text(part.of, { x: left, y: y + 4, size: 10, paint: "soft" }));
      y += parts.length > 1 ? 14 : 0;
      const flow = tokenFlow(
        part.tokens.map((token, i) => ({
          token,
          ground: scale.colour(part[key][i]),
          words: `${shortened(token, 40)}: ${decimal(part[key][i], decimals + 1)}`,
          ...(part.tokens.length <= tokensWithNumbers && { below: decimal(part[key][i], decimals) }),
        })),
        { x: left, y, width: room },
      );
      drawn.push(flow.drawn);
      y += flow.height + 6;
      end = Math.max(end, flow.end);
    }
    drawn.push(legend(scale, { x: left, y, width: 180, unit }));
    y += legendHeight + 22;
  }
  return sheet({ width: Math.max(end + 24, headingWidth(title)), height: y, title }, heading(title), ...drawn);
}

/** What is explained, in words. */
export const titleOf = ({ of, label, probability, position }: AttributionPicture["answer"]): string =>
  `Why ${of === "next token" ? `the next token${position === undefined ? "" : ` at place ${position}`} is` : of === "tag" ? `the tag at place ${position} is` : "the label is"} ${prose(shortened(label, 20), 24)} (${percent(probability)})`;
