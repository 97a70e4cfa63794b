export const joined = (parts: readonly Uint8Array[]): Uint8Array => Uint8Array.from(parts.flatMap((part) => [...part]));

/** A file with any header, the length in front of it true. */
export function fileOf(header: string | Uint8Array, dataBytes = 0): Uint8Array {
  const text = typeof header === "string" ? new TextEncoder().encode(header) : header;
  const start = new DataView(new ArrayBuffer(8));
  start.setBigUint64(0, BigInt(text.length), true);
  return joined([new Uint8Array(start.buffer), text, new Uint8Array(dataBytes)]);
}
