import { type AnyConfig, hiddenKeys, type Place, type PlaceKind } from "./places.ts";

// The lectures' formulas, with the sizes of this model and this text below their letters.

export type Term =
  | string
  | { readonly kind: "sub" | "sup" | "under" | "fraction"; readonly of: Term; readonly by: Term }
  | { readonly kind: "root"; readonly of: Term }
  | { readonly kind: "row"; readonly of: readonly Term[] };

export interface Sizes {
  /** Tokens of this side, and those that are attended to. */
  readonly time: number;
  readonly keys: number;
  readonly vocab: number;
}

const row = (...of: readonly Term[]): Term => ({ kind: "row", of });
const sub = (of: Term, by: Term): Term => ({ kind: "sub", of, by });
const sup = (of: Term, by: Term): Term => ({ kind: "sup", of, by });
const fraction = (of: Term, by: Term): Term => ({ kind: "fraction", of, by });
const root = (of: Term): Term => ({ kind: "root", of });
/** A letter with its size below it. */
const sized = (of: Term, ...sizes: readonly (number | undefined)[]): Term =>
  sizes.some((size) => size === undefined) ? of : { kind: "under", of, by: sizes.join(" × ") };

interface Known extends Sizes {
  readonly width?: number;
  readonly heads?: number;
  /** Heads of keys and values, which several heads of queries may share. */
  readonly kvHeads?: number;
  readonly key?: number;
  readonly value?: number;
  readonly hidden?: number;
}

function known(config: AnyConfig, sizes: Sizes, { side }: Place): Known {
  if (config === undefined || !("width" in config)) return sizes;
  const { width } = config;
  if (!("heads" in config)) return { ...sizes, width };
  const decoder = side === "own" && config.model === "encoder-decoder";
  const heads = (decoder ? config.decoderHeads : undefined) ?? config.heads;
  const size = config.multiHead === "wide" ? width : width / heads;
  const hidden = (decoder ? config.decoderHidden : undefined) ?? config.hidden ?? 4 * width;
  return { ...sizes, width, heads, kvHeads: config.kvHeads ?? heads, key: config.keySize ?? size, value: config.valueSize ?? size, hidden };
}

/** The formula of a place; undefined where the lectures have none. */
export function formulaOf(place: Place, config: AnyConfig, sizes: Sizes): Term | undefined {
  const all = known(config, sizes, place);
  const make = formulas[place.kind];
  return make?.(all, config, place);
}

type Make = (sizes: Known, config: AnyConfig, place: Place) => Term | undefined;

const flag = <Name extends string>(config: AnyConfig, name: Name): unknown =>
  config && name in config ? (config as unknown as Record<Name, unknown>)[name] : undefined;

const biased = (config: AnyConfig, what: "qkv" | "out" | "feedforward"): boolean => {
  const bias = flag(config, "bias") ?? "all";
  return bias === "all" || bias === what;
};

const projection =
  (letter: "Q" | "K" | "V", weight: string): Make =>
  ({ time, keys, width, heads, kvHeads, key, value }, config, { sublayer, layer = 0 }) => {
    const size = letter === "V" ? value : key;
    const [rows, count] = letter === "Q" ? [time, heads] : [keys, kvHeads];
    const x = sublayer === "cross" && letter !== "Q" ? "H" : "X";
    if (flag(config, "attention") === "free") return row(letter, "=", sized("X", rows, width));
    const chunk = count && width && width / count; // narrow heads: each sees its own part of the input
    const product =
      flag(config, "multiHead") === "narrow"
        ? row(sized(x, count, rows, chunk), sized(sub("W", weight), count, chunk, size))
        : row(sized(x, rows, width), sized(sub("W", weight), width, count && size && count * size));
    const projected = biased(config, "qkv") ? row(product, "+", sub("b", weight)) : product;
    const whole = flag(config, "qkNorm") === true && letter !== "V" ? row("norm", "(", projected, ")") : projected;
    const placed = sublayer !== "cross" || flag(config, "crossPositions") === true;
    const turned = flag(config, "positions") === "rotary" && placed && letter !== "V";
    if (letter === "V" && flag(config, "valueResidual") === true && sublayer !== "cross" && layer > 0)
      return row(sized("V", count, rows, size), "=", sub("λ", "1"), "(", whole, ")", "+", sub("λ", "2"), sub("V", "first"));
    return row(sized(letter, count, rows, size), "=", ...(turned ? ["R", "(", whole, ")"] : [whole]));
  };

const scoreTerm = (config: AnyConfig, { key, time, keys, heads, kvHeads }: Known): Term => {
  const [q, k] = [sized("Q", heads, time, key), sup(sized("K", kvHeads, keys, key), "⊤")];
  switch (flag(config, "score")) {
    case "dot":
      return row(q, k);
    case "bilinear":
      return row(q, "W", k);
    case "additive":
      return row(sup("v", "⊤"), "tanh", "(", "W", sub("q", "i"), "+", "U", sub("k", "j"), ")");
    default: {
      const scale = flag(config, "scale");
      return scale === undefined ? fraction(row(q, k), key === undefined ? root("size") : row(root(`${key}`))) : row(`${scale}`, "·", q, k);
    }
  }
};

/** A decoder's state against a state of the encoder. */
function alignmentScore(config: AnyConfig, { width }: Known): Term {
  const [s, h] = [sub("s", "t"), sub("h", "j")];
  switch (flag(config, "score")) {
    case "additive":
      return row(sup("v", "⊤"), "tanh", "(", "W", s, "+", "U", h, ")");
    case "bilinear":
      return row(sup(s, "⊤"), "W", h);
    case "scaled":
      return fraction(row(s, "·", h), root(`${width ?? "size"}`));
    default:
      return row(s, "·", h);
  }
}

/** Which keys are hidden, after the word "for". */
function hiddenWords(config: AnyConfig, place: Place): readonly Term[] {
  const { later = true, far } = hiddenKeys(config, place) ?? {};
  if (far === undefined) return ["j", ">", "i"];
  return later ? ["j", ">", "i", "or", "j", "≤", "i", "−", `${far}`] : ["|", "i", "−", "j", "|", "≥", `${far}`];
}

const rnnCells: Readonly<Record<string, Term>> = {
  rnn: row(sub("h", "t"), "=", "tanh", "(", "W", sub("x", "t"), "+", "U", sub("h", "t−1"), "+", "b", ")"),
  gru: row(sub("h", "t"), "=", "(", "1", "−", sub("z", "t"), ")", "∘", sub("n", "t"), "+", sub("z", "t"), "∘", sub("h", "t−1")),
  lstm: row(
    sub("c", "t"),
    "=",
    sub("f", "t"),
    "∘",
    sub("c", "t−1"),
    "+",
    sub("i", "t"),
    "∘",
    sub("g", "t"),
    ",",
    sub("h", "t"),
    "=",
    sub("o", "t"),
    "∘",
    "tanh",
    "(",
    sub("c", "t"),
    ")",
  ),
};

/** What a sublayer adds: its output, or with norms on both sides its norm. */
const branchOf = (config: AnyConfig, y: Term): readonly Term[] => (flag(config, "normPlace") === "both" ? ["norm", "(", y, ")"] : [y]);

const formulas: Readonly<Partial<Record<PlaceKind, Make>>> = {
  embedded: ({ time, width, vocab }, config, { side }) => {
    const source = side === "source" ? flag(config, "sourceVocab") : undefined;
    const hasClass = flag(config, "pool") === "class" && ["classify", "embed"].includes(String(flag(config, "task"))); // a row of its own
    const rows = typeof source === "number" ? source : vocab + (hasClass ? 1 : 0);
    return row(sized("X", time, width), "=", sized("E", rows, width), "[", "tokens", "]");
  },
  positioned: ({ time, width }, config) => {
    const kind = flag(config, "positions");
    const scale = flag(config, "embeddingScale");
    const x =
      kind === "sinusoidal" && scale === undefined
        ? row(root(`${width}`), "·", "X")
        : typeof scale === "number" && scale !== 1
          ? row(`${scale}`, "·", "X")
          : "X";
    const segments = Number(flag(config, "segments") ?? 0) > 0 ? ["+", "S"] : [];
    const begin = [sized("X", time, width), "←"];
    if (flag(config, "joinPositions") === "concat") return row(...begin, "[", x, ";", "P", "]", "W", "+", "b", ...segments);
    if (kind === "learned" || kind === "sinusoidal") return row(...begin, x, "+", sized("P", time, width), ...segments);
    return row(...begin, x, ...segments);
  },
  norm: ({ width }, config) => {
    const affine = flag(config, "normAffine") !== false;
    const scale = affine ? ["·", sized("γ", width)] : [];
    if (flag(config, "norm") === "rms")
      return row("y", "=", fraction("x", root(row(fraction("1", `${width ?? "d"}`), "Σ", sup("x", "2"), "+", "ε"))), ...scale);
    const shift = affine && flag(config, "normBias") !== false ? ["+", sized("β", width)] : [];
    return row("y", "=", fraction(row("x", "−", "μ"), root(row(sup("σ", "2"), "+", "ε"))), ...scale, ...shift);
  },
  q: projection("Q", "q"),
  k: projection("K", "k"),
  v: projection("V", "v"),
  scores: (sizes, config, { sublayer }) => {
    if (config?.model === "rnn") return row(sub("e", "tj"), "=", alignmentScore(config, sizes));
    const own = scoreTerm(config, sizes);
    const cap = flag(config, "scoreCap");
    const capped = typeof cap === "number" ? row(`${cap}`, "·", "tanh", "(", fraction(own, `${cap}`), ")") : own;
    const distance = sublayer !== "cross" && ["relative", "alibi"].includes(String(flag(config, "positions")));
    return row(sized("E", sizes.heads, sizes.time, sizes.keys), "=", capped, ...(distance ? ["+", "B"] : []));
  },
  mask: (_, config, place) =>
    flag(config, "attention") === "linear" || flag(config, "mask") === "after-softmax"
      ? row(sub("A", "ij"), "=", "0", "for", ...hiddenWords(config, place))
      : row(sub("E", "ij"), "=", "−∞", "for", ...hiddenWords(config, place)),
  pattern: ({ heads, time, keys }, config, place) => {
    if (config?.model === "rnn") return row(sized(sub("α", "t"), keys), "=", "softmax", "(", sub("e", "t"), ")");
    const isLinear = flag(config, "attention") === "linear";
    const isMasked = (isLinear || flag(config, "mask") === "after-softmax") && hiddenKeys(config, place) !== undefined; // what is 0 here, and not −∞ before
    const weights = isLinear ? ["E"] : ["softmax", "(", "E", ")"];
    return row(sized("A", heads, time, keys), "=", ...weights, ...(isMasked ? ["∘", "M"] : []));
  },
  mixed: ({ heads, kvHeads, time, keys, value }) =>
    row(sized("C", heads, time, value), "=", sized("A", heads, time, keys), sized("V", kvHeads, keys, value)),
  "attention-out": ({ time, width, heads, value }, config) =>
    flag(config, "attention") === "free"
      ? row(sized("Y", time, width), "=", "[", sub("C", "1"), ";", "…", "]")
      : row(
          sized("Y", time, width),
          "=",
          "[",
          sub("C", "1"),
          ";",
          "…",
          ";",
          sub("C", `${heads ?? "h"}`),
          "]",
          sized(sub("W", "O"), heads && value && heads * value, width),
          ...(biased(config, "out") ? ["+", "b"] : []),
        ),
  added: ({ time, width }, config) => row(sized("X", time, width), "←", "X", "+", ...branchOf(config, "Y")),
  output: ({ time, width }, config) => {
    const isParallel = (flag(config, "parallel") ?? "none") !== "none";
    const found = isParallel ? [...branchOf(config, sub("Y", "1")), "+", ...branchOf(config, sub("Y", "2"))] : branchOf(config, "Y");
    const sum = flag(config, "residual") === false ? found : ["X", "+", ...found];
    return row(sized("X", time, width), "←", ...(flag(config, "normPlace") === "post" ? ["norm", "(", ...sum, ")"] : sum));
  },
  hidden: ({ time, width, hidden }, config) => {
    const activation = String(flag(config, "activation") ?? "f");
    const gate = { swiglu: "silu", geglu: "gelu", "geglu-tanh": "gelu" }[activation];
    const bent = activation === "relu2" ? sup("relu", "2") : activation;
    const x = sized("x", time, width);
    const [first, second] = [sized(sub("W", "1"), width, hidden), sized("V", width, hidden)];
    return gate
      ? row(sized("h", time, hidden), "=", gate, "(", x, first, ")", "∘", "x", second)
      : row(sized("h", time, hidden), "=", bent, "(", x, first, ...(biased(config, "feedforward") ? ["+", sub("b", "1")] : []), ")");
  },
  "feedforward-out": ({ time, width, hidden }, config) =>
    row(
      sized("y", time, width),
      "=",
      sized("h", time, hidden),
      sized(sub("W", "2"), hidden, width),
      ...(biased(config, "feedforward") && !/glu/.test(String(flag(config, "activation"))) ? ["+", sub("b", "2")] : []),
    ),
  recurrent: (_, config) => rnnCells[String(flag(config, "cell"))],
  context: ({ time, width }) => row(sized(sub("c", "t"), time, width), "=", sub("Σ", "j"), sub("α", "tj"), sub("h", "j")),
  joined: ({ time, width }) =>
    row(
      sized(sub("o", "t"), time, width),
      "=",
      "[",
      sub("s", "t"),
      ";",
      sub("c", "t"),
      "]",
      sized("W", width && 2 * width, width),
      "+",
      "b",
    ),
  pooled: ({ time, width }, config) =>
    flag(config, "pool") === "mean" || flag(config, "pool") === undefined
      ? row(sized("h", width), "=", fraction("1", `${time}`), sub("Σ", "i"), sub("x", "i"))
      : row(sized("h", width), "=", sub("x", flag(config, "pool") === "last" ? `${time - 1}` : "0")),
  probabilities: ({ width, vocab }, config) => {
    const labels = flag(config, "labels");
    if (config?.model === "encoder" && typeof labels === "number" && labels > 0)
      return row("p", "=", flag(config, "labelling") === "several" ? "σ" : "softmax", "(", "h", sized("W", width, labels), "+", "b", ")");
    const isTied = flag(config, "tie") === true;
    const bias = (config?.model === "rnn" ? !isTied : flag(config, "scoresBias") === true) ? ["+", "b"] : [];
    return row("p", "=", "softmax", "(", "h", isTied ? sup(sized("E", vocab, width), "⊤") : sized("W", width, vocab), ...bias, ")");
  },
};
