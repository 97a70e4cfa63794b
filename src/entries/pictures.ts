// Numbers to pictures: pure functions that give SVG text (or a page, or text for a terminal).

export { attentionGrid } from "../pictures/attention-grid.ts";
export { type AttentionMap, alignment, attentionMap } from "../pictures/attention-map.ts";
export { attentionText, type TextOptions } from "../pictures/attention-text.ts";
export { type AttributionPicture, attributionPicture } from "../pictures/attribution.ts";
export { type ComparedSeries, type Comparison, comparison } from "../pictures/comparison.ts";
export { type ConfusionMatrix, confusionMatrix } from "../pictures/confusion-matrix.ts";
export { type HeadScores, type HeadStatistics, headStatistics } from "../pictures/head-statistics.ts";
export { interactiveHtml, type PageDetails } from "../pictures/interactive-html.ts";
export { type Geometry, layerNormGeometry } from "../pictures/layer-norm-geometry.ts";
export { type LensTable, lensTable } from "../pictures/lens-table.ts";
export { type LossCurves, type LossSeries, lossCurves } from "../pictures/loss-curves.ts";
export { type NextTokens, nextTokens } from "../pictures/next-tokens.ts";
export { type PositionTable, positionTable } from "../pictures/position-table.ts";
export { type Roofline, type RooflinePoint, roofline } from "../pictures/roofline.ts";
export { type TagStrip, tagStrip } from "../pictures/tag-strip.ts";
