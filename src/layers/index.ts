// What models are built from: functions (scope, tensor, options) → tensor.
export { type AttentionConfig, type AttentionInputs, attention } from "./attention.ts";
export { type BlockConfig, type BlockInputs, block } from "./block.ts";
export { drop } from "./dropout.ts";
export { type Activation, feedforward } from "./feedforward.ts";
export type { MultiHead } from "./heads.ts";
export { type DenseOptions, dense } from "./linear.ts";
export { type NormKind, norm } from "./norm.ts";
export { type PositionKind, positioned } from "./positions.ts";
export { type Cell, type Recurrence, type RecurrenceForm, recurrent } from "./recurrent.ts";
export type { Score } from "./scores.ts";
