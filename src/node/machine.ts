import { availableParallelism, cpus, freemem } from "node:os";

/** Bytes that a program may still take on this machine. */
export const freeMemory = (): number => (typeof process.availableMemory === "function" ? process.availableMemory() : freemem());

/** How many processes a launcher started on this machine to compute together; one, if none did. */
function neighbours({ env } = process): number {
  const told = [env.OMPI_COMM_WORLD_LOCAL_SIZE, env.MPI_LOCALNRANKS, env.SLURM_STEP_TASKS_PER_NODE].map((text) =>
    Number.parseInt(text ?? "", 10),
  );
  return Math.max(1, told.find((count) => count > 0) ?? 1);
}

/** More threads than this rarely pay for small models. Ranks on one machine share its cores; one that a launcher bound to some has these. */
export const usualThreads = (): number =>
  Math.max(1, Math.min(8, availableParallelism(), Math.floor(Math.max(cpus().length, availableParallelism()) / neighbours())));
