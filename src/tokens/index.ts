export { lastCut } from "./cut.ts";
export { loadTokenizer, parseTokenizer, saveTokenizer } from "./load.ts";
export { type Tokenizer, type TokenizerKind, tokenizerKinds } from "./tokenizer.ts";
export { type TrainTokenizerOptions, trainTokenizer } from "./train.ts";
