import { availableParallelism, cpus, freemem } from "node:os";

/** Bytes that a program may still take on this machine. */
export const freeMemory = (): number => (typeof process.availableMemory === "function" ? process.availableMemory() : freemem());

/** The first of these variables of the environment that says a number of at least one. */
const told = (...names: readonly string[]): number | undefined =>
  names.map((name) => Number.parseInt(process.env[name] ?? "", 10)).find((count) => count >= 1);

/** How many processes a launcher started on this machine to compute together; one, if none did. */
const neighbours = (): number => told("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_TASKS_PER_NODE") ?? 1;

/**
 * As many as OMP_NUM_THREADS says, by which people and launchers tell numeric programs of any kind to share a machine. Else all cores, up to the number
 * beyond which more rarely pay for small models; ranks on one machine share its cores, and one that a launcher bound to some has these.
 */
export const usualThreads = (): number =>
  told("OMP_NUM_THREADS") ??
  Math.max(1, Math.min(8, availableParallelism(), Math.floor(Math.max(cpus().length, availableParallelism()) / neighbours())));
