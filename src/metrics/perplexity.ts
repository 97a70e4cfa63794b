// A language model's loss is the mean of -ln p over tokens, in nats.

/** Among how many equally likely tokens the model would be as unsure. */
export const perplexity = (meanNll: number): number => Math.exp(meanNll);

/** The same uncertainty in bits. */
export const bits = (nats: number): number => nats / Math.LN2;

/** Comparable between tokenizers: the bits to write the whole text down, for each of its bytes in UTF-8. */
export const bitsPerByte = (totalNll: number, bytes: number): number => bits(totalNll) / bytes;
