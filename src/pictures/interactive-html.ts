import type { AttentionLook } from "../inspection/look.ts";
import { checkLook, checkSome } from "./check.ts";
import type { ColourTable, Rgb } from "./colour.ts";
import { escaped } from "./escape.ts";
import { shortened } from "./label.ts";
import { pageScript } from "./page-script.ts";
import { pageStyle } from "./page-style.ts";
import { levelColour, levels } from "./scale.ts";

/** SHA-256 of the script and the style; a test says the right ones when either is changed. Nothing else may run or load. */
const scriptHash = "NeBwIrE4uKYPTd8Gh+QHCv4h0a9dRvaH9Gcmksb6cLM=";
const styleHash = "CpVxhrg7FHYBwxJb2z68gTG3RbytyFAbCHdK+BnV5yg=";
const policy = `default-src 'none'; script-src 'sha256-${scriptHash}'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'`;

/** JSON that can stand inside a script element: no `<` to end it, no line ends that older readers trip over. */
const embedded = (data: unknown): string =>
  JSON.stringify(data).replace(/[<>&\u2028\u2029]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);

const table = (name: ColourTable): Rgb[] => Array.from({ length: levels }, (_, level) => levelColour(name, level));

/**
 * One file to open in a browser, from disk, without a network: choose layer and head (and the kind, when several looks are
 * given), point at a token or go to it with the keyboard, and see where it looks.
 */
export function interactiveHtml(given: AttentionLook | readonly AttentionLook[], title = "Attention"): string {
  const looks = "layers" in given ? [given] : given;
  checkSome(title, looks, "looks");
  for (const look of looks) checkLook(`${title}, ${look.kind}`, look);
  const data = { looks: looks.map(compact), colours: { sequential: table("sequential"), diverging: table("diverging") } };
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
<h1>${escaped(title)}</h1>
<div class="choices">
<label>Attention<select id="kind"></select></label>
<label>Layer<select id="layer"></select></label>
<label>Head<select id="head"></select></label>
</div>
<p id="status" role="status"></p>
<h2 id="query-word">Queries: point at one to see where it looks</h2>
<section id="queries" class="tokens" aria-labelledby="query-word"></section>
<h2 id="key-word">Keys: point at one to see who looks at it</h2>
<section id="keys" class="tokens" aria-labelledby="key-word"></section>
<h2>All weights: queries down, keys across</h2>
<div class="scroll">
<div class="frame">
<canvas id="map" tabindex="0" role="img" aria-label="The weights as a map; the arrow keys move over it"></canvas>
<div id="query-band" class="band"></div>
<div id="key-band" class="band"></div>
</div>
</div>
<div class="legend"><span id="least"></span><span id="bar"></span><span id="most"></span></div>
<script type="application/json" id="data">${embedded(data)}</script>
<script>${pageScript}</script>
</body>
</html>
`;
}

/** Labels in the place of tokens, and weights of three digits, which is more than can be seen. */
function compact({ kind, tokens, targetTokens, layers }: AttentionLook): AttentionLook {
  const named = (names: readonly string[]) => names.map((name) => shortened(name, 24));
  return {
    kind,
    tokens: named(tokens),
    targetTokens: named(targetTokens),
    layers: layers.map(({ layer, heads }) => ({
      layer,
      heads: heads.map(({ head, pattern }) => ({
        head,
        pattern: pattern.map((row) => row.map((weight) => Number(weight.toPrecision(3)))),
      })),
    })),
  };
}
