import type { Sight } from "../sight.ts";

export const CausesRoom = ({ sight }: { readonly sight: Sight }) => <p>{sight.tokens.length} tokens</p>;
