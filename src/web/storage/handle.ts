/**
 * Bytes that are read and written at once: a FileSystemSyncAccessHandle, or what tests put in its place. What was written is safe from a crash when
 * `flush` has returned, and may be before.
 */
export interface Handle {
  /** How many bytes came; fewer than wanted only at the end. */
  read(into: Uint8Array, at: number): number;
  /** All of it, or an error. */
  write(from: Uint8Array, at: number): void;
  truncate(size: number): void;
  size(): number;
  flush(): void;
  close(): void;
}

/** What a storage is made of: two indexes, of which one is always whole, and the bytes of all files. */
export interface Handles {
  readonly indexes: readonly [Handle, Handle];
  readonly data: Handle;
}

export const closeHandles = ({ indexes, data }: Handles): void => {
  for (const handle of [...indexes, data]) handle.close();
};
