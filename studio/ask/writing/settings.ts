import { address, put } from "../../address.ts";

// How the next token is chosen, as the address has it.

export interface WriteSettings {
  readonly temperature: number;
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
  readonly repetitionPenalty: number;
  readonly seed: number;
  readonly tokens: number;
}

export interface Setting {
  readonly name: keyof WriteSettings;
  /** In the address. */
  readonly short: string;
  readonly label: string;
  readonly help: string;
  readonly usual: number;
  readonly min: number;
  readonly max: number;
  readonly step: number;
  readonly shown?: (value: number) => string;
}

const none = (word: string) => (value: number) => (value === 0 ? word : `${value}`);

export const writeSettings: readonly Setting[] = [
  {
    name: "temperature",
    short: "t",
    label: "Temperature",
    help: "Divides the scores: below 1 the likely gets likelier, above 1 everything gets more alike, 0 always takes the likeliest",
    usual: 0.8,
    min: 0,
    max: 2,
    step: 0.05,
  },
  { name: "topK", short: "k", label: "Top-k", help: "Only the k likeliest tokens", usual: 0, min: 0, max: 50, step: 1, shown: none("all") },
  {
    name: "topP",
    short: "p",
    label: "Top-p",
    help: "Only the likeliest tokens that together have this probability",
    usual: 1,
    min: 0.05,
    max: 1,
    step: 0.01,
    shown: (value) => (value === 1 ? "all" : `${value}`),
  },
  {
    name: "minP",
    short: "m",
    label: "Min-p",
    help: "Only tokens with at least this share of the likeliest one's probability",
    usual: 0,
    min: 0,
    max: 0.5,
    step: 0.01,
    shown: none("all"),
  },
  {
    name: "repetitionPenalty",
    short: "r",
    label: "Repetition",
    help: "The penalty for it: makes tokens that were there before less likely; 1 leaves them as they are",
    usual: 1,
    min: 1,
    max: 2,
    step: 0.05,
  },
  { name: "seed", short: "seed", label: "Seed", help: "The same seed writes the same text", usual: 1, min: 1, max: 100, step: 1 },
  { name: "tokens", short: "n", label: "Tokens", help: "How many are written at a time", usual: 80, min: 1, max: 300, step: 1 },
];

/** What the address says, and else what is usual; what lies outside is brought inside. */
export function settingsOf(params: Readonly<Record<string, string>>): WriteSettings {
  const found = writeSettings.map(({ name, short, usual, min, max }) => {
    const value = Number(params[short] ?? usual);
    return [name, Number.isFinite(value) ? Math.min(max, Math.max(min, value)) : usual];
  });
  return Object.fromEntries(found) as unknown as WriteSettings;
}

export const usedSettings = (): WriteSettings => settingsOf(address.value.params);

export const putSetting = ({ short, usual }: Setting, value: number): void => put({ [short]: value === usual ? undefined : value });
