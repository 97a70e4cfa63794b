import { DataError } from "../base/errors.ts";
import type { AttentionLook } from "../inspection/look.ts";
import type { QueryKeys } from "../inspection/query-keys.ts";
import { checkLook, checkSome } from "./check.ts";
import { escaped } from "./escape.ts";
import { pageScript, pageStyle, scriptHash, styleHash } from "./page.bundle.ts";
import { type PageAnswers, packedAnswers, packedLook } from "./page-data.ts";

// The page's code is in page/, typed and bundled by the build; here it gets its data.

/** Nothing but the page's own script and style may run or load, and nothing may be sent. */
const policy = `default-src 'none'; script-src 'sha256-${scriptHash}'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'`;

/** JSON that can stand inside a script element: no `<` to end it, no line ends that older readers trip over. */
const embedded = (data: unknown): string =>
  JSON.stringify(data).replace(/[<>&\u2028\u2029]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** What the page shows beside the weights. */
export interface PageDetails {
  /** For each look, its queries and keys, or why there are none. */
  readonly vectors?: readonly (QueryKeys | { readonly note: string })[];
  readonly answers?: Parameters<typeof packedAnswers>[0];
}

/** Weights are a byte each; more would not load well. */
const mostWeights = 64e6;
/** Queries and keys are left out where they would make the page larger than this many bytes. */
const mostVectors = 24e6;

/**
 * One file to open in a browser, from disk, without a network: an overview of all heads, each head with lines between its tokens, its map,
 * what the model answers at a position after each layer, and how a query and a key make a score.
 */
export function interactiveHtml(
  given: AttentionLook | readonly AttentionLook[],
  title = "Attention",
  { vectors = [], answers }: PageDetails = {},
): string {
  const looks = "layers" in given ? [given] : given;
  checkSome(title, looks, "looks");
  for (const look of looks) checkLook(`${title}, ${look.kind}`, look);
  refuseTooMany(title, looks);
  const data = {
    looks: looks.map((look, i) => packedLook(look, bounded(vectors[i]))),
    ...(answers && { answers: packedAnswers(answers) satisfies PageAnswers }),
  };
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>${pageStyle}</style>
</head>
<body>
<header>
<h1>${escaped(title)}</h1>
<label id="kind-choice">Attention<select id="kind"></select></label>
<label>Layer<select id="layer"></select></label>
<label>Head<select id="head"></select></label>
<button type="button" id="theme"></button>
</header>
<p id="status" role="status"></p>
<main>
<section id="overview-part" aria-labelledby="overview-title">
<h2 id="overview-title">All heads: layers down, heads across</h2>
<table id="overview" aria-labelledby="overview-title"></table>
</section>
<section id="heads" aria-labelledby="head-title">
<h2 id="head-title"></h2>
<div class="columns-title"><span>queries look</span><span></span><span>at keys</span></div>
<div class="head-frame">
<canvas id="lines" aria-hidden="true"></canvas>
<div id="head-scroller">
<ul id="queries" class="tokens" role="listbox" tabindex="0" aria-label="Queries: choose one to hear where it looks"></ul>
<ul id="keys" class="tokens" role="listbox" tabindex="0" aria-label="Keys: choose one to hear who looks at it"></ul>
</div>
</div>
</section>
<div id="inspector">
<section id="answers" aria-labelledby="answer-title">
<h2 id="answer-title"></h2>
<table id="next" aria-labelledby="answer-title"></table>
<section id="lens-part" aria-labelledby="lens-title">
<h3 id="lens-title">Logit lens: what it would answer after each layer</h3>
<table id="lens" aria-labelledby="lens-title"></table>
</section>
</section>
<section id="neurons" aria-labelledby="neuron-title">
<h2 id="neuron-title">Query · key, dimension by dimension</h2>
<table id="products" aria-labelledby="neuron-title"></table>
<p id="neuron-note"></p>
</section>
</div>
<section id="map-part" aria-labelledby="map-title">
<h2 id="map-title">All weights: queries down, keys across</h2>
<div class="frame">
<canvas id="map" tabindex="0" role="application" aria-label="The weights as a map; the arrow keys move over it, Enter pins" aria-describedby="status"></canvas>
<div id="query-band" class="band"></div>
<div id="key-band" class="band"></div>
</div>
<div class="legend"><span id="least"></span><span id="bar"></span><span id="most"></span></div>
</section>
</main>
<footer>Point at a token to see its weights; click or <kbd>Enter</kbd> pins it, <kbd>Esc</kbd> lets go. <kbd>Tab</kbd> goes from part to part, the arrow keys within one. Weights, queries and keys are shown to one part in 255 of their largest.</footer>
<script type="application/json" id="data">${embedded(data)}</script>
<script>${pageScript}</script>
</body>
</html>
`;
}

function refuseTooMany(title: string, looks: readonly AttentionLook[]): void {
  const sizes = looks.map(({ tokens, targetTokens, layers }) =>
    layers.reduce((sum, { heads }) => sum + heads.length * tokens.length * targetTokens.length, 0),
  );
  const total = sizes.reduce((a, b) => a + b, 0);
  if (total > mostWeights)
    throw new DataError(
      `${title}: ${total.toLocaleString("en")} weights, and a page holds ${mostWeights.toLocaleString("en")}; look at one layer, or at a shorter text`,
    );
}

/** Queries and keys, unless they are too many. */
function bounded(vectors: QueryKeys | { readonly note: string } | undefined): QueryKeys | { readonly note: string } | undefined {
  if (vectors === undefined || !("layers" in vectors)) return vectors;
  const count = vectors.layers.reduce(
    (sum, heads) => sum + heads.reduce((all, { q, k }) => all + (q.length + k.length) * (q[0]?.length ?? 0), 0),
    0,
  );
  if (count <= mostVectors) return vectors;
  return { note: `Queries and keys are left out, as they are ${count.toLocaleString("en")} numbers; look at one layer to see them.` };
}
