// What carries bytes between ranks, and what it is told.

/** Where stretches of bytes begin, and how long they are: one for each rank. */
export interface Stretches {
  readonly places: Int32Array;
  readonly counts: Int32Array;
}

/** Every call is made by all ranks, in the same order. */
export interface Wire {
  readonly rank: number;
  readonly size: number;
  /** Seconds after which one who has not answered counts as gone; for ever, if left out. */
  patience?: number | undefined;
  /** A stretch of what is sent goes to each rank, and one comes from each. */
  scatter(send: Uint8Array, sent: Stretches, into: Uint8Array, received: Stretches): Promise<void>;
  /** Own bytes go to everybody, and everybody's come here. */
  spread(own: Uint8Array, into: Uint8Array, received: Stretches): Promise<void>;
  /** The bytes of rank 0 are everybody's. */
  broadcast(bytes: Uint8Array): Promise<void>;
}

export const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array => new Uint8Array(buffer, byteOffset, byteLength);

/** Stretches that lie one after the other. */
export function after(counts: readonly number[]): Stretches {
  let at = 0;
  const places = counts.map((count) => {
    at += count;
    return at - count;
  });
  return { places: Int32Array.from(places), counts: Int32Array.from(counts) };
}
