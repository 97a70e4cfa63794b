import type { Computer } from "../../src/worker/computer.ts";

// The other end of a house: replaced as soon as there is one.

export interface HouseListener {
  /** Called for each connection, also when one comes back. */
  ready(computer: Computer): void;
  lost(message: string): void;
}

export async function connectHouse(_listener: HouseListener): Promise<void> {
  throw new Error("there is no house yet");
}
