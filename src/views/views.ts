import { chance } from "../base/chance.ts";
import { alignmentOf, attendedBy, rollout } from "../inspection/alignment.ts";
import { isLabeller, nextTokensOf } from "../inspection/answers.ts";
import { type AttentionOptions, attentionOf, chosen } from "../inspection/attention.ts";
import { attributionOf } from "../inspection/attribution.ts";
import { keyGeometry } from "../inspection/key-space.ts";
import { logitLens } from "../inspection/lens.ts";
import type { AttentionLook } from "../inspection/look.ts";
import { pathLength } from "../inspection/path-length.ts";
import { positionsOf } from "../inspection/positions.ts";
import { headStatisticsOf } from "../inspection/statistics.ts";
import { tagsOf } from "../inspection/tags.ts";
import { givesSeveral, type ModelConfig } from "../models/any.ts";
import { attentionGrid } from "../pictures/attention-grid.ts";
import { alignment, attentionMap } from "../pictures/attention-map.ts";
import { attributionPicture } from "../pictures/attribution.ts";
import { headStatistics } from "../pictures/head-statistics.ts";
import { interactiveHtml } from "../pictures/interactive-html.ts";
import { layerNormGeometry } from "../pictures/layer-norm-geometry.ts";
import { lensTable } from "../pictures/lens-table.ts";
import { type LossSeries, lossCurves } from "../pictures/loss-curves.ts";
import { nextTokens } from "../pictures/next-tokens.ts";
import { positionTable } from "../pictures/position-table.ts";
import { tagStrip } from "../pictures/tag-strip.ts";
import type { TrainedModel } from "../trained/trained.ts";
import { attentionPage } from "./page.ts";
import * as texts from "./texts.ts";

// Every view of `qkv look`: what it finds, and how that is drawn.

export interface ViewOptions extends AttentionOptions {
  /** How many candidates a position gets. */
  readonly top?: number;
  /** A token, or its place, whose most attended tokens are listed. */
  readonly query?: string;
  /** What an attribution explains: a label, a tag or a token, and where. */
  readonly label?: string;
  readonly position?: number;
}

export interface View {
  /** What --json prints and a .json file holds. */
  readonly value: object;
  /** A picture; a view of words has none. */
  readonly svg?: () => string;
  /** A page that does more than show the picture. */
  readonly html?: () => string | Promise<string>;
  readonly text: (terminal: texts.Terminal) => string;
}

/** What a view is made of. */
export interface Subject {
  /** Opened when it is first asked for. */
  readonly run: () => TrainedModel;
  /** The losses of its training, where it was trained here. */
  readonly losses: () => readonly LossSeries[];
  readonly text: string;
  readonly options: ViewOptions;
}

interface ViewKind {
  readonly what: string;
  readonly needsText: boolean;
  /** Those that mean something here. */
  readonly flags: readonly (keyof ViewOptions)[];
  readonly hasPicture: boolean;
  make(subject: Subject): View | Promise<View>;
}

const kinds = {
  attention: {
    what: "where tokens attend to",
    needsText: true,
    flags: ["target", "layer", "head", "kind", "query"],
    hasPicture: true,
    async make({ run, text, options }) {
      const look = await attentionOf(run(), text, options);
      const drawn = { svg: () => pictureOf(look), html: () => attentionPage(run(), text, look, options) };
      const { query } = options;
      if (query === undefined) return { ...drawn, value: look, text: (terminal) => texts.attention(look, terminal) };
      const attended = attendedBy(look, queryOf(look, query));
      return { ...drawn, value: { ...look, attended }, text: () => texts.attended(attended, look.targetTokens) };
    },
  },
  statistics: {
    what: "what each head does, in a few numbers",
    needsText: true,
    flags: ["target", "layer", "head", "kind"],
    hasPicture: true,
    async make({ run, text, options }) {
      const statistics = headStatisticsOf(await attentionOf(run(), text, options));
      return { value: statistics, svg: () => headStatistics(statistics), text: () => texts.statistics(statistics) };
    },
  },
  rollout: {
    what: "how much of each token reaches each position through all layers",
    needsText: true,
    flags: ["target", "layer", "kind"],
    hasPicture: true,
    async make({ run, text, options: { layer, ...options } }) {
      const { model } = run();
      const kind = options.kind ?? (model.model === "encoder-decoder" ? "encoder" : undefined);
      const { layers, ...rest } = rollout(await attentionOf(run(), text, { ...options, kind }), {
        residual: "residual" in model ? model.residual : model.model === "own",
      });
      const [until] = chosen("layer", layers.length, layer ?? layers.length - 1);
      const shown = { ...rest, layers: [layers[until]] };
      return {
        value: shown,
        svg: () => pictureOf(shown, `Attention rollout to layer ${until}`),
        html: () => interactiveHtml(shown),
        text: (terminal) => texts.attention(shown, terminal),
      };
    },
  },
  alignment: {
    what: "which source token each target token comes from: the mean over all heads",
    needsText: true,
    flags: ["target", "layer", "head", "kind"],
    hasPicture: true,
    async make({ run, text, options }) {
      const found = alignmentOf(await attentionOf(run(), text, options));
      return {
        value: found,
        svg: () => alignment({ ...found, pattern: found.matrix }),
        text: (terminal) => texts.alignment(found, terminal),
      };
    },
  },
  lens: {
    what: "what the model would answer after each layer",
    needsText: true,
    flags: ["target", "top"],
    hasPicture: true,
    async make({ run, text, options }) {
      const lens = await logitLens(run(), text, options);
      return { value: lens, svg: () => lensTable(lens), text: (terminal) => texts.lens(lens, terminal) };
    },
  },
  attribution: {
    what: "which tokens speak for the answer and which against it: gradient × input, and leaving each out",
    needsText: true,
    flags: ["target", "label", "position"],
    hasPicture: true,
    async make({ run, text, options }) {
      const found = await attributionOf(run(), text, options);
      return { value: found, svg: () => attributionPicture(found), text: (terminal) => texts.attribution(found, terminal) };
    },
  },
  tags: {
    what: "the tag of each token, and how sure the model is of it",
    needsText: true,
    flags: [],
    hasPicture: true,
    async make({ run, text, options }) {
      const tagged = await tagsOf(run(), text, options);
      return { value: tagged, svg: () => tagStrip(tagged), text: () => texts.tags(tagged) };
    },
  },
  next: {
    what: "what may come next, and how likely (of labels: which)",
    needsText: true,
    flags: ["target", "top"],
    hasPicture: true,
    async make({ run, text, options }) {
      const next = await nextTokensOf(run(), text, options);
      return {
        value: next,
        svg: () => nextTokens({ ...next, ...nextWords(run().model) }),
        text: () => texts.next(next),
      };
    },
  },
  geometry: {
    what: "what LayerNorm does to the keys of a layer",
    needsText: true,
    flags: ["target", "layer", "head", "kind"],
    hasPicture: true,
    async make({ run, text, options }) {
      const panels = await keyGeometry(run(), text, chance(1), options);
      return { value: { panels }, svg: () => layerNormGeometry(panels), text: () => texts.geometry(panels) };
    },
  },
  positions: {
    what: "how order is told: the table of positions, or the bias of distances",
    needsText: false,
    flags: [],
    hasPicture: true,
    async make({ run }) {
      const positions = await positionsOf(run());
      return { value: positions, svg: () => positionTable(positions), text: (terminal) => texts.positions(positions, terminal) };
    },
  },
  path: {
    what: "how many steps lie between tokens, and how many must wait for each other",
    needsText: false,
    flags: [],
    hasPicture: false,
    make({ run }) {
      const { model } = run();
      const lengths = [4, 16, 64].filter((n) => n <= Math.max(4, model.context)).map((n) => ({ n, ...pathLength(model, n) }));
      return { value: { lengths }, text: () => texts.path(lengths) };
    },
  },
  loss: {
    what: "how the loss fell in training",
    needsText: false,
    flags: [],
    hasPicture: true,
    make({ losses }) {
      const series = losses();
      return { value: { series }, svg: () => lossCurves({ series }), text: (terminal) => texts.losses(series, terminal) };
    },
  },
} satisfies Record<string, ViewKind>;

export type ViewName = keyof typeof kinds;
export const views: Readonly<Record<ViewName, ViewKind>> = kinds;

function nextWords(model: ModelConfig): { readonly title: string; readonly apart: boolean } {
  const apart = givesSeveral(model);
  return { title: apart ? "Which labels" : isLabeller(model) ? "The label" : "The next token", apart };
}

/** One head as a large map, several as small ones. */
function pictureOf(look: AttentionLook, title?: string): string {
  const { tokens, targetTokens, kind, layers } = look;
  if (layers.length > 1 || layers[0].heads.length > 1) return attentionGrid(look);
  const [{ layer, heads }] = layers;
  const map = { tokens, targetTokens, pattern: heads[0].pattern, title: title ?? `Attention of layer ${layer}, head ${heads[0].head}` };
  return kind === "cross" ? alignment(map) : attentionMap(map);
}

/** A number is a place, unless it is a token. */
const queryOf = ({ targetTokens }: AttentionLook, query: string): number | string =>
  /^\d+$/.test(query) && !targetTokens.includes(query) ? Number(query) : query;
