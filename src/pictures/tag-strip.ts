import { checkSome } from "./check.ts";
import { type Rgb, rgbOf, seriesColours } from "./colour.ts";
import { shortened } from "./label.ts";
import { percent } from "./number.ts";
import { heading, headingWidth, sheet, text } from "./svg.ts";
import { tokenFlow } from "./token-flow.ts";

export interface TagStrip {
  readonly tokens: readonly string[];
  /** The tag of each token and how sure the model is of it. */
  readonly tags: readonly string[];
  readonly probabilities: readonly number[];
  readonly title?: string;
}

const white: Rgb = [255, 255, 255];
const room = 820;

/** Tokens with their tags below them; a tag has its colour, paler where the model is less sure. */
export function tagStrip({ tokens, tags, probabilities, title = "Tags" }: TagStrip): string {
  checkSome(title, tokens, "tokens");
  const names = [...new Set(tags)].sort();
  const flow = tokenFlow(
    tokens.map((token, i) => ({
      token,
      ground: pale(rgbOf(seriesColours[names.indexOf(tags[i]) % seriesColours.length].light), probabilities[i]),
      below: shortened(tags[i], 12),
      words: `${shortened(token, 40)}: ${tags[i]}, ${percent(probabilities[i])}`,
    })),
    { x: 24, y: 44, width: room },
  );
  const below = 44 + flow.height;
  return sheet(
    { width: Math.max(flow.end + 24, headingWidth(title), 320), height: below + 34, title: `${title}: ${tokens.length} tokens` },
    heading(title),
    flow.drawn,
    text("the paler, the less sure (probability of the tag)", { x: 24, y: below + 14, size: 10, paint: "soft" }),
  );
}

const pale = (colour: Rgb, share: number): Rgb => {
  const mix = (channel: 0 | 1 | 2) => Math.round(white[channel] + share * 0.85 * (colour[channel] - white[channel]));
  return [mix(0), mix(1), mix(2)];
};
