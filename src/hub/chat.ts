import { type ChatFormat, chatFormatOf } from "../tokens/chat-template.ts";
import type { HubRecord } from "./record.ts";

/** How a model reads conversations: as it was trained to here, or as what it came with says. */
export const chatOf = ({ chat, hub }: { readonly chat?: ChatFormat; readonly hub?: HubRecord }): ChatFormat | undefined =>
  chat ?? (hub && chatFormatOf(hub.tokenizerConfig, hub.chatTemplate));
