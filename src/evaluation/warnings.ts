// What is said of texts that a model cannot read as they are.

export const unknownTokens = (count: number): string[] =>
  count > 0 ? [`${count.toLocaleString("en")} tokens are not in the vocabulary and count as unknown`] : [];

export const cutTexts = (count: number, all: number, what: string, context: number): string[] =>
  count > 0 ? [`${count} of ${all} ${what} are longer than the context of ${context} tokens and are cut`] : [];
