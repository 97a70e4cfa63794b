import type { Sight } from "../sight.ts";

export const MapRoom = ({ sight }: { readonly sight: Sight }) => <p>{sight.tokens.length} tokens</p>;
