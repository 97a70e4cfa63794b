import { useEffect, useState } from "preact/hooks";
import { address, link } from "../address.ts";
import { standing } from "../compute/place.ts";
import { Empty, Failed, Loading } from "../parts/states.tsx";
import { lives } from "../stores/live.ts";
import { messageOf } from "../stores/models.ts";
import { nameOf, runs, runsError } from "../stores/runs.ts";
import { NewTraining } from "./begin/new-training.tsx";
import { beginFirst, isFirstVisit } from "./first.ts";
import { RunList } from "./run-list.tsx";
import { Watch } from "./watch.tsx";

// Learn: begin a training, and watch what is learned.

export function Learn() {
  const { run, new: wanted } = address.value.params;
  const [failed, setFailed] = useState<string>();
  const begins = standing.value.state === "ready" && run === undefined && wanted === undefined && isFirstVisit();
  const first = () => {
    setFailed(undefined);
    beginFirst().catch((error) => setFailed(messageOf(error)));
  };
  useEffect(() => {
    if (begins) first();
  }, [begins]);
  const name = run ?? newest();
  return (
    <div class="learn">
      <RunList chosen={wanted === undefined ? name : undefined} />
      <div class="learn-sight stack">
        {failed !== undefined && <Failed message={failed} />}
        {runsError.value !== undefined && <Failed message={runsError.value} />}
        {wanted !== undefined ? (
          <NewTraining />
        ) : name !== undefined ? (
          <Watch key={name} name={name} />
        ) : runs.value === undefined || begins ? (
          standing.value.state === "ready" && <Loading what="Looking for runs." />
        ) : (
          <Nothing begin={first} />
        )}
      </div>
    </div>
  );
}

/** What goes on, or what was written to last. */
function newest(): string | undefined {
  const under = [...lives.value.values()].findLast((live) => !live.isOver);
  if (under) return under.name;
  const [last] = [...(runs.value ?? [])].sort((a, b) => b.modified - a.modified);
  return last && nameOf(last.run);
}

const Nothing = ({ begin }: { readonly begin: () => void }) => (
  <Empty>
    <h1>Nothing has been trained here yet</h1>
    <p>Let a small model learn from the beginning of a book, which takes a minute or two, or give it a text or a table of your own.</p>
    <div class="row">
      <button type="button" class="first" onClick={begin}>
        Begin with the book
      </button>
      <a class="button" href={link("learn", { new: 1 })}>
        New training
      </a>
    </div>
  </Empty>
);
