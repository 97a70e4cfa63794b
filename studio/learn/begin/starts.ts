// Ready starts: small sets of settings, each with what it is for.

export interface Start {
  readonly name: string;
  readonly label: string;
  readonly what: string;
  readonly settings: Readonly<Record<string, string>>;
  /** The tasks that it is for; all if left out. */
  readonly tasks?: readonly string[];
}

export const starts: readonly Start[] = [
  { name: "usual", label: "The usual", what: "What learns best of the choices that there are, in a minute or a few.", settings: {} },
  {
    name: "minutes",
    label: "Ten minutes",
    what: "Sizes and steps are chosen for your data and this time; say how much time you have under Steps and learning rate.",
    settings: { minutes: "10" },
  },
  {
    name: "tiny",
    label: "Tiny",
    what: "Two small layers: learns within seconds, and can be looked at as a whole.",
    settings: { "model.layers": "2", "model.heads": "4", "model.width": "64", steps: "600", batch: "12", lr: "3e-3" },
  },
  {
    name: "larger",
    label: "Larger",
    what: "Six layers and more steps: better, and slower by a factor of ten or more.",
    settings: { "model.layers": "6", "model.heads": "8", "model.width": "256", steps: "4000", "model.dropout": "0.1" },
  },
  {
    name: "2017",
    label: "As in 2017",
    what: "The first Transformer: sinusoidal positions, norms after each sublayer, ReLU, a rate that rises and falls.",
    settings: {
      "model.positions": "sinusoidal",
      "model.norm": "layer",
      "model.normPlace": "post",
      "model.activation": "relu",
      schedule: "noam",
      warmup: "400",
    },
  },
  {
    name: "rnn",
    label: "A recurrent network",
    what: "What came before Transformers: a GRU that reads word after word; a translator has attention over its states.",
    settings: { "model.model": "rnn" },
    tasks: ["lm", "translate"],
  },
  {
    name: "lost",
    label: "Without positions",
    what: "A Transformer that cannot tell what comes first: compare it with the usual one.",
    settings: { "model.positions": "none", "model.layers": "2", "model.width": "64", steps: "600" },
  },
];
