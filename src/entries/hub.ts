// Models from outside: how they come, what they say of themselves, and how one leaves for elsewhere. `open` and `train` of qkv take a folder of
// Hugging Face or a GGUF file where they take a run, so most programs need none of this.
export { isGgufFile } from "../disk/gguf-file.ts";
export { isHubFolder } from "../disk/hub-kind.ts";
export { families, type Recognised, recognised } from "../hub/families.ts";
export type { Family, JsonObject } from "../hub/family.ts";
export type { HubRecord } from "../hub/record.ts";
export { type Exported, type ExportFormat, type ExportOptions, exportFormats, exportModel } from "../library/export.ts";
export { type ExportWeights, exportWeights } from "../library/exporter.ts";
export { type Imported, type ImportOptions, importModel } from "../library/import.ts";
export { type Merged, type MergeOptions, merge } from "../library/merge.ts";
export { type PullEvent, type Pulled, type PullOptions, pull } from "../library/pull.ts";
export type { ChatMessage } from "../text/examples.ts";
export { type ChatFormat, chatFormatOf, type RenderOptions, renderChat } from "../tokens/chat-template.ts";
export { type ByteSource, type Gguf, type GgufMetadata, type GgufTensor, type GgufValue, ggufNumbers, parseGguf } from "../weights/gguf.ts";
