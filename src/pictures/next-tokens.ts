import { DataError } from "../base/errors.ts";
import { checkNumbers, checkSome } from "./check.ts";
import { prose, shortened } from "./label.ts";
import { alignedPercent } from "./number.ts";
import { element, group, heading, headingWidth, hover, paint, seriesFill, sheet, text } from "./svg.ts";

export interface NextTokens {
  readonly prompt: string;
  /** In the order in which they are drawn. */
  readonly candidates: readonly { readonly token: string; readonly probability: number }[];
  readonly title?: string;
  /** Whether each is there or not, so that they are not parts of one whole. */
  readonly apart?: boolean;
}

const most = 40;
const pitch = 22;
const [left, barRoom] = [130, 340];

/** How likely each token is to come next. */
export function nextTokens({ prompt, candidates, title = "The next token", apart = false }: NextTokens): string {
  checkSome(title, candidates, "candidates");
  const probabilities = candidates.map(({ probability }) => probability);
  checkNumbers(`${title}, probabilities`, probabilities);
  const wrong = candidates.find(({ probability }) => probability < 0 || probability > 1 + 1e-6);
  if (wrong) throw new DataError(`${title}: a probability of ${wrong.probability}, wanted a number from 0 to 1`);

  const shown = candidates.slice(0, most);
  const rest = 1 - shown.reduce((sum, { probability }) => sum + probability, 0);
  const longest = Math.max(...shown.map(({ probability }) => probability), 1e-12);
  const top = 66;
  const bars = shown.map(({ token, probability }, i) => {
    const middle = top + (i + 0.5) * pitch;
    const width = Math.max(1, (probability / longest) * barRoom);
    return group(
      {},
      hover(`${shortened(token, 60)}: ${alignedPercent(probability)}`),
      text(shortened(token, 14), { x: left - 10, y: middle, size: 13, anchor: "end" }),
      element("rect", { x: left, y: middle - 7, width, height: 14, rx: 2, ...seriesFill(0) }),
      text(alignedPercent(probability), { x: left + width + 8, y: middle, size: 11, paint: "soft" }),
    );
  });
  const below = top + shown.length * pitch;
  return sheet(
    { width: Math.max(left + barRoom + 80, headingWidth(title)), height: below + 40, title: `${title} after ${prose(prompt, 60, "end")}` },
    heading(title),
    text(prompt === "" ? "with nothing before it" : `after ${prose(prompt, 64, "end")}`, { x: 16, y: 44, size: 12, paint: "soft" }),
    element("path", { d: `M${left - 0.5} ${top}V${below}`, fill: "none", ...paint("line") }),
    ...bars,
    ...(apart
      ? []
      : [text(`all others together: ${alignedPercent(Math.max(0, rest))}`, { x: left, y: below + 18, size: 11, paint: "soft" })]),
  );
}
