export { around, cutAround, frameOf, plainJson, unframed } from "./around.ts";
export { lastCut } from "./cut.ts";
export { type TrainTokenizerOptions, trainTokenizer } from "./learn.ts";
export { loadTokenizer, parseTokenizer, saveTokenizer } from "./load.ts";
export { maskToken, withMask } from "./mask.ts";
export { type NormalForm, normalForms, normalisationOf } from "./normaliser.ts";
export { slowSentence, type TextFrame, type Tokenizer, type TokenizerKind, tokenizerKinds } from "./tokenizer.ts";
export { type Roles, withRoles } from "./with-roles.ts";
