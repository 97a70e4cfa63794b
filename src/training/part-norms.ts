/** How long the gradient is (before clipping), what the step changed, and the weights after it, in one layer. */
export interface PartNorms {
  /** `decoder/block.2`; what is in no layer by its own name, such as `decoder/token` or `decoder/head`. */
  readonly name: string;
  readonly gradient: number;
  readonly update: number;
  readonly weight: number;
}
