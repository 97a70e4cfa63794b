import { type AnyConfig, hiddenKeys, type Place, type PlaceKind } from "./places.ts";

// What each place is for, for somebody who sees it for the first time.

const words: Readonly<Record<PlaceKind, string>> = {
  text: "What the model is given. It never sees letters: the text is cut into tokens first.",
  tokens: "Pieces of the text, each with a number in the vocabulary. From here on the model knows only these numbers.",
  embedded:
    "Each token's row of a learned table: as many numbers as the model is wide. Tokens that are used alike get rows that are alike.",
  positioned: "Attention alone knows no order, so each vector is told where it stands.",
  norm: "Each token's vector is brought to a usual size, so that what follows works whatever the sums before have become.",
  q: "The query: what this token looks for, in each head another thing.",
  k: "The key: what this token can be found by.",
  v: "The value: what this token gives to those who look at it.",
  scores: "Every query is compared with every key; a high score means that they fit.",
  mask: "A token that is to be predicted may not be seen: the keys that come later are hidden.",
  pattern: "The scores of each row become weights that sum to one: how much each token looks at each other.",
  mixed: "Each token gets the mean of the values, weighted by what it looks at.",
  "attention-out": "The mixtures of all heads are joined and brought back to the model's width.",
  added: "What the layer found is added to what was there: the residual stream. Nothing is lost, and gradients find a short way back.",
  hidden: "The feed-forward layer looks at each token alone: many units, each of which fires for something.",
  "feedforward-out": "What the units that fire write back into the token's vector.",
  output: "The residual stream after this block.",
  recurrent: "The state after each token, made from the token and the state before it: one step must wait for the other.",
  context: "The mean of the encoder's states, weighted by the alignment: what this step takes from the source.",
  joined: "The decoder's state and what it found in the source, made into one vector.",
  pooled: "The whole text as one vector.",
  probabilities: "How likely the model finds each answer.",
  other: "A place that this model has of its own.",
};

/** Where weights are no shares: without a softmax, or with a mask after it. */
function weightWords(config: AnyConfig, place: Place): string {
  if (config && "heads" in config && config.attention === "linear")
    return "Without a softmax the scores themselves are the weights: rows need not sum to one.";
  if (config && "mask" in config && config.mask === "after-softmax" && hiddenKeys(config, place))
    return "The scores of each row become weights before the mask hides some of them: rows no longer sum to one, and the denominator has seen what comes later.";
  return words.pattern;
}

function maskWords(config: AnyConfig, place: Place): string {
  const { later = true, far } = hiddenKeys(config, place) ?? {};
  const window =
    far === undefined
      ? []
      : [`Each token sees at most ${far} keys ${later ? "back, itself included" : "to either side, itself included"}.`];
  return [...(later ? [words.mask] : []), ...window].join(" ");
}

export function purposeOf(place: Place, config: AnyConfig, readsSource: boolean): string {
  const { kind, sublayer, side } = place;
  const own = kind === "pattern" ? weightWords(config, place) : kind === "mask" ? maskWords(config, place) : words[kind];
  const positions = config && "positions" in config && sublayer === "attention" ? config.positions : undefined;
  const more = [
    sublayer === "cross" && (kind === "k" || kind === "v") && "In cross-attention it comes from the encoder's last layer.",
    positions === "rotary" &&
      (kind === "q" || kind === "k") &&
      "Here it is turned by its position (rotary), so that a score knows the distance.",
    (positions === "relative" || positions === "alibi") && kind === "scores" && "A bias of the distance between the two tells the order.",
    readsSource && side === "source" && kind === "text" && "The source is read once, before the first token of the target is written.",
  ];
  return [own, ...more.filter((sentence) => typeof sentence === "string")].join(" ");
}
