// One switch for dropout: while a model is trained it drops, and nowhere else.

/** Training drops; everything else does not. Scores are for use unless it is said otherwise, and a loss is for training. */
export interface Mode {
  readonly training?: boolean;
}

/** Settings as they count in a mode: outside training the share that is dropped is 0. */
export const effective = <C extends object>(config: C, { training = false }: Mode): C =>
  training || !("dropout" in config) ? config : { ...config, dropout: 0 };
