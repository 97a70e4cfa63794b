import { hostname } from "node:os";
import { Option } from "commander";
import { NonFiniteError } from "../base/errors.ts";
import { launchedAs } from "../processes/launcher.ts";
import { type JoinOptions, joinRanks, type Ranks } from "../processes/ranks.ts";
import { compressions } from "../training/carrier.ts";

// What a command does when a launcher of MPI started it many times over.

export const rankFlags: readonly Option[] = [
  new Option("--mpi <library>", "under mpirun: the MPI library (default: that of the launcher)"),
  new Option("--shard-optimizer", "under mpirun: each rank keeps the optimizer's state of its part alone"),
  new Option("--compress <how>", "under mpirun: gradients travel in 16 bits, for slow networks (default none)").choices(compressions),
];

const lost = (rank: number, host: string, seconds: number): void =>
  console.error(
    `EngineError: rank ${rank} (${host}): the others have not answered for ${Math.round(seconds)} seconds, so a host or the network between them is gone; go on from the last checkpoint with --resume`,
  );

/** Does something as one of many ranks, or alone. Only rank 0 speaks, unless another fails. */
export async function together<Result>(
  options: Omit<JoinOptions, "lost">,
  work: (ranks: Ranks | undefined) => Promise<Result>,
): Promise<Result | undefined> {
  const launch = launchedAs();
  let ranks: Ranks | undefined;
  try {
    ranks = await joinRanks({ ...options, lost });
    const result = await work(ranks);
    ranks?.agree();
    return result;
  } catch (error) {
    if (!launch || launch.rank === 0) throw error;
    if (error instanceof NonFiniteError) await ranks?.group.meet(); // all know it: rank 0 says it, and ends the others
    process.stderr.write(`rank ${launch.rank} (${hostname()}): `);
    throw error;
  }
}
