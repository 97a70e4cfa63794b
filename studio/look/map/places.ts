import type { ModelConfig } from "../../../src/models/any.ts";

// The map of a model: its places in the order of the data's way, from the names of its taps. Whatever a model has of its own is listed by
// the name that it has there.

export interface Tap {
  readonly name: string;
  readonly axes: readonly string[];
}

export type PlaceKind =
  | "text"
  | "tokens"
  | "embedded"
  | "positioned"
  | "norm"
  | "q"
  | "k"
  | "v"
  | "scores"
  | "mask"
  | "pattern"
  | "mixed"
  | "attention-out"
  | "added"
  | "hidden"
  | "feedforward-out"
  | "output"
  | "recurrent"
  | "context"
  | "joined"
  | "pooled"
  | "probabilities"
  | "other";

export type Sublayer = "attention" | "cross" | "feedforward";

export interface Place {
  /** As the address names it: its tap, where it has one. */
  readonly key: string;
  readonly kind: PlaceKind;
  readonly label: string;
  readonly tap?: string;
  readonly sublayer?: Sublayer;
  readonly layer?: number;
  readonly side: Side;
}

/** Whose tokens: those of the source, which is read first, or those that the model goes on with. */
export type Side = "source" | "own";

/** Places that stand in one line: a sublayer, or a place alone. */
export interface Row {
  readonly sublayer?: Sublayer;
  readonly places: readonly Place[];
}

export interface Group {
  readonly key: string;
  readonly label: string;
  readonly rows: readonly Row[];
}

export interface Column {
  readonly side: Side;
  readonly label: string;
  readonly groups: readonly Group[];
}

export type AnyConfig = ModelConfig | undefined;

const blockName = /^(?:.*\/)?(?:block|layer)\.(\d+)\/(.+)$/;

/** The last word of a tap inside an attention or a feed-forward layer. */
const sublayerKinds: Readonly<Record<string, PlaceKind>> = {
  "attention/out": "attention-out",
  "cross/out": "attention-out",
  "feedforward/out": "feedforward-out",
};
const plainKinds: readonly PlaceKind[] = [
  "embedded",
  "positioned",
  "q",
  "k",
  "v",
  "scores",
  "pattern",
  "mixed",
  "added",
  "hidden",
  "context",
  "joined",
  "pooled",
];

export const labels: Readonly<Record<PlaceKind, string>> = {
  text: "text",
  tokens: "tokens",
  embedded: "embedding",
  positioned: "+ positions",
  norm: "norm",
  q: "q",
  k: "k",
  v: "v",
  scores: "scores",
  mask: "mask",
  pattern: "softmax",
  mixed: "mixture",
  "attention-out": "out",
  added: "+ residual",
  hidden: "hidden",
  "feedforward-out": "out",
  output: "output",
  recurrent: "states",
  context: "context",
  joined: "joined",
  pooled: "pooled",
  probabilities: "probabilities",
  other: "",
};

function placeOf({ name }: Tap, side: Side): Place {
  const [, number, rest] = blockName.exec(name) ?? [];
  const inside = rest ?? name.split("/").slice(-2).join("/");
  const [scope, last = scope] = inside.split("/").slice(-2);
  const layer = number === undefined ? {} : { layer: Number(number) };
  const of = (kind: PlaceKind, more: Partial<Place> = {}): Place => ({
    key: name,
    kind,
    label: labels[kind],
    tap: name,
    side,
    ...layer,
    ...more,
  });
  if (last === "normed") return of("norm");
  if (rest === "output") return name.includes("layer.") ? of("recurrent") : of("output");
  const sublayer = (["attention", "cross", "feedforward"] as const).find((one) => one === scope && inside.includes("/"));
  const within = sublayer ? { sublayer } : {};
  const special = sublayerKinds[`${scope}/${last}`];
  if (special) return of(special, within);
  const plain = plainKinds.find((one) => one === last);
  if (plain) return of(plain, within);
  return of("other", { label: rest ?? name });
}

/** All columns: the encoder's beside the decoder's where a source is read, one otherwise. */
export function mapOf(taps: readonly Tap[], config: AnyConfig, { readsSource }: { readonly readsSource: boolean }): Column[] {
  const sideOf = ({ name }: Tap): Side => (readsSource && /(^|\/)encoder\//.test(name) ? "source" : "own");
  const column = (side: Side): Column => {
    const own = taps.filter((tap) => sideOf(tap) === side);
    const begin = side === "source" ? ["source", "source tokens"] : readsSource ? ["target", "target tokens"] : ["text", "tokens"];
    const first: Place[] = [
      { key: side === "source" ? "source-text" : "text", kind: "text", label: begin[0], side },
      { key: side === "source" ? "source-tokens" : "tokens", kind: "tokens", label: begin[1], side },
    ];
    const last: Place[] = side === "own" ? [{ key: "probabilities", kind: "probabilities", label: labels.probabilities, side }] : [];
    const places = [
      ...first,
      ...withMasks(
        withoutTwins(
          own.map((tap) => placeOf(tap, side)),
          config,
        ),
        config,
      ),
      ...last,
    ];
    return { side, label: side === "source" ? "Encoder" : readsSource ? "Decoder" : "", groups: groupsOf(places, config) };
  };
  return readsSource && taps.some((tap) => sideOf(tap) === "source") ? [column("source"), column("own")] : [column("own")];
}

/** One tensor with two names is one place: a block's output is its last sum unless a norm follows, and an encoder's states are its last norm. */
function withoutTwins(places: readonly Place[], config: AnyConfig): Place[] {
  const sumIsOutput = config !== undefined && "normPlace" in config && config.normPlace !== "post";
  const sums = sumIsOutput && config.residual;
  const named = places.map((place) => (place.kind === "output" && sums ? { ...place, label: labels.added } : place));
  return named.filter((place, i) => {
    if (place.kind === "added" && sumIsOutput && places[i + 1]?.kind === "output") return false;
    return !(place.kind === "other" && place.key.endsWith("/states") && i > 0 && ["norm", "output"].includes(places[i - 1].kind));
  });
}

/** Which keys a query does not see: those that come later, those that are this far away or farther, or both; undefined where it sees all. */
export function hiddenKeys(
  config: AnyConfig,
  { side, sublayer, layer = 0 }: Pick<Place, "side" | "sublayer" | "layer">,
): { readonly later: boolean; readonly far: number | undefined } | undefined {
  if (config === undefined || !("mask" in config) || sublayer !== "attention") return undefined;
  const { window, windowEvery } = config;
  const far = windowEvery !== undefined && (layer + 1) % windowEvery === 0 ? undefined : window;
  const later = side === "own" && config.mask !== "none" && (config.model === "encoder" ? config.causal : true);
  return later || far !== undefined ? { later, far } : undefined;
}

/** Where some keys are hidden, the mask is a step of its own between scores and softmax. */
function withMasks(places: readonly Place[], config: AnyConfig): Place[] {
  return places.flatMap((place) =>
    place.kind === "scores" && hiddenKeys(config, place)
      ? [place, { ...place, key: place.key.replace(/scores$/, "mask"), kind: "mask" as const, label: labels.mask }]
      : [place],
  );
}

function groupsOf(places: readonly Place[], config: AnyConfig): Group[] {
  const groups: { key: string; label: string; places: Place[] }[] = [];
  for (const place of places) {
    const { key, label } = groupOf(place, groups.length > 0 && groups.some((one) => one.key.startsWith("layer")), config);
    const known = groups.at(-1);
    if (known?.key === key) known.places.push(place);
    else groups.push({ key, label, places: [place] });
  }
  return groups.map(({ places: inside, ...group }) => ({ ...group, rows: rowsOf(inside) }));
}

function groupOf(
  { kind, layer, sublayer, side }: Place,
  afterLayers: boolean,
  config: AnyConfig,
): { readonly key: string; readonly label: string } {
  if (layer !== undefined) return { key: `layer ${layer}`, label: `${config?.model === "rnn" ? "Layer" : "Block"} ${layer}` };
  if (sublayer !== undefined || kind === "context") return { key: "alignment", label: "Alignment" };
  return afterLayers ? { key: "end", label: side === "source" ? "Result" : "Answer" } : { key: "begin", label: "Input" };
}

function rowsOf(places: readonly Place[]): Row[] {
  const rows: { sublayer?: Sublayer; places: Place[] }[] = [];
  for (const place of places) {
    const last = rows.at(-1);
    const joins = place.sublayer !== undefined && place.kind !== "added" && last?.sublayer === place.sublayer;
    if (last && joins) last.places.push(place);
    else rows.push({ ...(place.sublayer && place.kind !== "added" && { sublayer: place.sublayer }), places: [place] });
  }
  return rows;
}

/** Every place, in the order in which a token comes to it. */
export const walkOf = (columns: readonly Column[]): Place[] =>
  columns.flatMap(({ groups }) => groups.flatMap(({ rows }) => rows.flatMap(({ places }) => places)));

/** The place whose parameters are meant: `decoder/block.0/attention/q` has those of `…/attention/q`, a norm those of its own. */
export function parametersAt(
  { kind, tap = "", side }: Place,
  parameters: readonly { readonly name: string; readonly shape: readonly number[] }[],
): readonly { readonly name: string; readonly shape: readonly number[] }[] {
  const scope = tap.slice(0, tap.lastIndexOf("/"));
  const under = (...paths: readonly string[]) =>
    parameters.filter(({ name }) => paths.some((path) => name === path || name.startsWith(`${path}/`)));
  const ends = (pattern: RegExp) => parameters.filter(({ name }) => pattern.test(name));
  switch (kind) {
    case "embedded":
      return ends(side === "source" && parameters.some(({ name }) => name.endsWith("source-tokens")) ? /source-tokens$/ : /(^|\/)tokens$/);
    case "positioned":
      return under(`${scope}/positions`, `${scope}/segments`);
    case "norm":
      return under(scope);
    case "q":
    case "k":
    case "v":
      return under(tap, `${scope}/${kind}-norm`, ...(kind === "v" ? [`${scope}/values`] : [])).concat(
        under(`${scope}/qkv`, ...(kind === "q" ? [] : [`${scope}/kv`])),
      );
    case "scores":
      return parameters.filter(
        ({ name }) => name.startsWith(`${scope}/`) && !/\/(q|k|v|qkv|kv|out|q-norm|k-norm|values)\//.test(name.slice(scope.length)),
      );
    case "attention-out":
      return under(tap);
    case "hidden":
      return under(`${scope}/expand`, `${scope}/gate`);
    case "feedforward-out":
      return under(`${scope}/contract`);
    case "recurrent":
      return under(scope);
    case "joined":
      return ends(/(^|\/)join\//);
    case "pooled":
      return ends(/(^|\/)pooler\//);
    case "probabilities":
      return ends(/(^|\/)(scores|labels|head)\//).filter(({ name }) => !name.includes("attention"));
    default:
      return [];
  }
}
