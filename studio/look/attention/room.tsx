import type { Sight } from "../sight.ts";

export const AttentionRoom = ({ sight }: { readonly sight: Sight }) => <p>{sight.tokens.length} tokens</p>;
