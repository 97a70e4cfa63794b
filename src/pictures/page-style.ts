/** The looks of the interactive page, light or dark as the reader prefers. interactive-html.ts holds its hash. */
export const pageStyle = `
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1f2328; --soft: #59636e; --blank: #f1f2f4; --line: #8c959f; --glow: 255 166 64; --mark: #0072b2; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #15171c; --ink: #e6e8eb; --soft: #a2a9b4; --blank: #23262d; --line: #6b737e; --glow: 20 110 190; --mark: #56b4e9; }
}
* { box-sizing: border-box; }
[hidden] { display: none; }
body { margin: 0 auto; max-width: 60rem; padding: 1.5rem; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { margin: 0 0 1rem; font-size: 1.3rem; overflow-wrap: anywhere; }
h2 { margin: 1.2rem 0 0.3rem; font-size: 0.85rem; font-weight: 600; color: var(--soft); }
.choices { display: flex; flex-wrap: wrap; gap: 1rem; }
select { font: inherit; margin-left: 0.3rem; }
#status { min-height: 3.2em; margin: 0.8rem 0 0; overflow-wrap: anywhere; }
.tokens { display: flex; flex-wrap: wrap; gap: 2px; max-height: 13rem; overflow: auto; padding: 3px; }
.token { border: 1px solid transparent; border-radius: 4px; padding: 0 3px; min-width: 1ch; font: inherit; color: inherit; cursor: pointer;
  unicode-bidi: isolate; background: rgb(var(--glow) / var(--weight, 0)); }
.token:hover, .token.chosen { border-color: var(--mark); }
.token:focus-visible, #map:focus-visible, select:focus-visible { outline: 2px solid var(--mark); outline-offset: 1px; }
.frame { position: relative; display: inline-block; background: var(--blank); line-height: 0; }
.scroll { overflow: auto; padding: 3px; }
#map { width: calc(1px * var(--columns) * var(--cell)); height: calc(1px * var(--rows) * var(--cell)); image-rendering: pixelated; display: block; cursor: crosshair; }
.band { position: absolute; pointer-events: none; outline: 1.5px solid var(--mark); }
#query-band { left: 0; width: 100%; top: calc(100% * var(--index) / var(--count)); height: calc(100% / var(--count)); }
#key-band { top: 0; height: 100%; left: calc(100% * var(--index) / var(--count)); width: calc(100% / var(--count)); }
.legend { display: flex; align-items: center; gap: 0.5rem; margin-top: 0.5rem; font-size: 0.8rem; color: var(--soft); }
#bar { width: 10rem; height: 10px; }
`;
