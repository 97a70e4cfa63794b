import type { PageData } from "../src/pictures/page-data.ts";
import { answers } from "./answers.ts";
import { address, choices, theme } from "./choices.ts";
import { part } from "./dom.ts";
import { headView } from "./head-view.ts";
import { map } from "./map.ts";
import { neurons } from "./neurons.ts";
import { overview } from "./overview.ts";
import { Viewer } from "./state.ts";
import { words } from "./words.ts";

// The interactive page of `qkv look … --out page.html`. scripts/build.mjs bundles it into src/pictures/page.bundle.ts.

const viewer = new Viewer(JSON.parse(part("data", HTMLScriptElement).text) as PageData);
for (const show of [choices, overview, headView, map, words, answers, neurons]) show(viewer);
theme();
address(viewer);
