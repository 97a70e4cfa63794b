import { percent } from "../../parts/numbers.ts";
import { visible } from "../../parts/token-strip.tsx";
import { type Branch, type BranchTree, rowsOf } from "./branches.ts";

// The branches: where each left another, and how likely the token was that it left with. Arrow keys walk them.

const indent = 12;

export function BranchList({ tree, choose }: { readonly tree: BranchTree; readonly choose: (number: number) => void }) {
  const rows = rowsOf(tree);
  const walk = (event: KeyboardEvent) => {
    const at = rows.findIndex(({ branch }) => branch.number === tree.chosen);
    const { branch } = rows[at] ?? {};
    const above = branch?.parent === undefined ? -1 : rows.findIndex((row) => row.branch.number === branch.parent);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1, ArrowLeft: above, ArrowRight: at + 1 }[event.key];
    const next = to === undefined ? undefined : rows[to];
    if (!next) return;
    event.preventDefault();
    choose(next.branch.number);
    (event.currentTarget as HTMLElement).querySelector<HTMLElement>(`[data-branch="${next.branch.number}"]`)?.focus();
  };
  return (
    <div class="branches" role="tree" aria-label="Branches" onKeyDown={walk}>
      {rows.map(({ branch, depth }) => (
        <div
          key={branch.number}
          role="treeitem"
          data-branch={branch.number}
          aria-level={depth + 1}
          aria-selected={branch.number === tree.chosen}
          tabIndex={branch.number === tree.chosen ? 0 : -1}
          style={{ paddingLeft: `${8 + indent * depth}px` }}
          onClick={() => choose(branch.number)}
          onKeyDown={(event) => event.key === "Enter" && choose(branch.number)}
        >
          <Name branch={branch} />
        </div>
      ))}
    </div>
  );
}

const seen = (text: string): string =>
  visible(text)
    .map(({ text: part, isBlank }) => (isBlank ? part.replaceAll("·", " ") : part))
    .join("");

function Name({ branch: { tokens, from, parent, ended } }: { readonly branch: Branch }) {
  const [first] = tokens;
  const words = seen(
    tokens
      .slice(0, 24)
      .map(({ text }) => text)
      .join(""),
  );
  if (!first) return <span class="soft">nothing yet</span>;
  const sure = first.logProbability === null ? "" : percent(Math.exp(first.logProbability));
  return (
    <>
      <span class="branch-words">{words}</span>
      <small>
        {parent === undefined ? `${tokens.length} tokens` : `token ${from + 1}, ${sure}`}
        {ended ? ", ended" : ""}
      </small>
    </>
  );
}
