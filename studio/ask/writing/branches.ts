import type { Piece, ToldToken } from "../../../src/protocol/messages.ts";

// What was written, as a tree: a branch goes on from a place of another with another token. Nothing is ever taken away.

/** A token as it is shown: one of a prompt has no probability at its beginning. */
export type ShownToken = Omit<ToldToken, "logProbability"> & { readonly logProbability: number | null };

/** Tokens that end a text, by the names that tokenizers give them: nothing is written after one. */
export const endsText = ({ text, bytes }: Pick<ToldToken, "text" | "bytes">): boolean =>
  bytes === null && /^(<\/s>|<eos>|<\|(im_end|end_of_text|endoftext|eot_id|end)\|>|<end_of_turn>|\[SEP\])$/.test(text);

export interface Branch {
  readonly number: number;
  /** None of what was written from the prompt itself. */
  readonly parent?: number;
  /** How many tokens of its parent's text come before its own. */
  readonly from: number;
  readonly tokens: readonly ShownToken[];
  /** Whether its first token was chosen by hand. */
  readonly start: "drawn" | "chosen";
  /** Where the model itself ended it: how likely that was, and what else could have come. */
  readonly ended?: Piece["ended"];
  /** Where it was not ended: what could come after its last token. */
  readonly next?: Pick<ToldToken, "top" | "total">;
}

export interface BranchTree {
  readonly branches: readonly Branch[];
  /** The one that is read. */
  readonly chosen: number;
}

export const noBranches: BranchTree = { branches: [], chosen: -1 };

export const branchAt = ({ branches }: BranchTree, number: number): Branch | undefined => branches[number];

/** The whole text of a branch, what it shares with others first. */
export function textOf(tree: BranchTree, number = tree.chosen): readonly ShownToken[] {
  const branch = branchAt(tree, number);
  if (!branch) return [];
  const before = branch.parent === undefined ? [] : textOf(tree, branch.parent).slice(0, branch.from);
  return [...before, ...branch.tokens];
}

/** Which branch the token at a place of a text was written in. */
export function ownerOf(tree: BranchTree, number: number, place: number): number {
  const branch = branchAt(tree, number);
  if (!branch || place >= branch.from || branch.parent === undefined) return number;
  return ownerOf(tree, branch.parent, place);
}

/** A new text from the prompt, which is read from now on. */
export const begun = ({ branches }: BranchTree): BranchTree => ({
  branches: [...branches, { number: branches.length, from: 0, tokens: [], start: "drawn" }],
  chosen: branches.length,
});

/** More of a branch. */
export const grown = (tree: BranchTree, number: number, tokens: readonly ShownToken[], ended?: Piece["ended"]): BranchTree =>
  changed(tree, number, ({ next: _, ...branch }) => ({ ...branch, tokens: [...branch.tokens, ...tokens], ...(ended && { ended }) }));

/** What could come after its end. */
export const foreseen = (tree: BranchTree, number: number, next: Branch["next"]): BranchTree =>
  changed(tree, number, (branch) => ({ ...branch, ...(next && { next }) }));

const changed = (tree: BranchTree, number: number, change: (branch: Branch) => Branch): BranchTree => ({
  ...tree,
  branches: tree.branches.map((branch) => (branch.number === number ? change(branch) : branch)),
});

/** Another token at a place of the text that is read. One that was followed before is walked to, and not written again. */
export function branched(tree: BranchTree, place: number, token: ShownToken): { readonly tree: BranchTree; readonly isNew: boolean } {
  const text = textOf(tree);
  if (text[place]?.id === token.id) return { tree, isNew: false };
  const open = branchAt(tree, tree.chosen);
  if (open && place === text.length && !open.ended) return { tree: grown(tree, tree.chosen, [token]), isNew: true };
  const parent = leftAt(tree, ownerOf(tree, tree.chosen, place), place);
  if (textOf(tree, parent)[place]?.id === token.id) return { tree: { ...tree, chosen: parent }, isNew: false };
  const known = followed(tree, parent, place, token.id);
  if (known !== undefined) return { tree: { ...tree, chosen: known }, isNew: false };
  const number = tree.branches.length;
  const branch: Branch = { number, parent, from: place, tokens: [token], start: "chosen" };
  return { tree: { branches: [...tree.branches, branch], chosen: number }, isNew: true };
}

/** Whoever leaves a branch at its first token leaves what it left itself. */
function leftAt(tree: BranchTree, number: number, place: number): number {
  const branch = branchAt(tree, number);
  return branch?.parent !== undefined && branch.from === place ? leftAt(tree, branch.parent, place) : number;
}

/** A branch that says this token at this place of the same text. */
const followed = ({ branches }: BranchTree, parent: number, place: number, id: number): number | undefined =>
  branches.find((branch) => branch.parent === parent && branch.from === place && branch.tokens[0]?.id === id)?.number;

export interface BranchRow {
  readonly branch: Branch;
  readonly depth: number;
}

/** All branches, each below the one that it left, those that leave it earlier first. */
export function rowsOf({ branches }: BranchTree): readonly BranchRow[] {
  const below = (parent: number | undefined, depth: number): readonly BranchRow[] =>
    branches
      .filter((branch) => branch.parent === parent)
      .sort((a, b) => a.from - b.from || a.number - b.number)
      .flatMap((branch) => [{ branch, depth }, ...below(branch.number, depth + 1)]);
  return below(undefined, 0);
}

/** What an address keeps of a branch: where it left which other, and its token ids. */
export interface KeptBranch {
  readonly parent?: number;
  readonly from: number;
  readonly start: Branch["start"];
  readonly ids: readonly number[];
}

/** `0.1a.2f~0:3:b4.c`: ids in base 36, one branch after the other; before them the branch that was left, and where. */
export const keptOf = ({ branches }: BranchTree): string =>
  branches
    .map(({ parent, from, start, tokens }) => {
      const ids = tokens.map(({ id }) => id.toString(36)).join(".");
      return parent === undefined ? ids : `${parent}:${from}${start === "drawn" ? "d" : ""}:${ids}`;
    })
    .join("~");

export function readKept(kept: string): readonly KeptBranch[] {
  const found = kept.split("~").map((one): KeptBranch | undefined => {
    const parts = /^(?:(\d+):(\d+)(d?):)?([0-9a-z]*(?:\.[0-9a-z]+)*)$/.exec(one);
    if (!parts) return undefined;
    const [, parent, from, drawn, ids] = parts;
    const start = parent === undefined || drawn ? "drawn" : "chosen";
    const read = ids === "" ? [] : ids.split(".").map((id) => Number.parseInt(id, 36));
    return { ...(parent !== undefined && { parent: Number(parent) }), from: Number(from ?? 0), start, ids: read };
  });
  // An address may have been written by anybody: a branch leaves one that comes before it, at a place that this one has.
  const good = found.every((one, i) => one && (one.parent === undefined || one.parent < i));
  return good ? (found as readonly KeptBranch[]) : [];
}

/** Parts of a text that fit into a context, each half a context further than the one before it. */
export function windowsOf(length: number, context: number): readonly { readonly start: number; readonly end: number }[] {
  const step = Math.max(1, Math.floor(context / 2));
  const found = [{ start: 0, end: Math.min(length, context) }];
  for (let end = context; end < length; ) {
    end = Math.min(length, end + step);
    found.push({ start: end - context, end });
  }
  return found;
}
