import { statSync } from "node:fs";

/** Something that follows from a file and others beside it, found once for each state of them; undefined where the file is not there. */
export function ofFiles<Found>(find: (file: string) => Found, beside: (file: string) => readonly string[] = () => []) {
  const known = new Map<string, { readonly stamp: string; readonly found: Found }>();
  return (file: string): Found | undefined => {
    const stats = [file, ...beside(file)].map((one) => statSync(one, { throwIfNoEntry: false }));
    if (!stats[0]) return undefined;
    const stamp = stats.map((stat) => `${stat?.size} ${stat?.mtimeMs}`).join();
    const before = known.get(file);
    if (before?.stamp === stamp) return before.found;
    const found = find(file);
    known.set(file, { stamp, found });
    return found;
  };
}
