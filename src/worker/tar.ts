// A folder of files as one, in the format of tar (POSIX ustar): blocks of 512 bytes, a header before each file, two empty ones at the end.

const block = 512;
const text = new TextEncoder();

export function tarOf(name: string, files: readonly File[]): Blob {
  const folder = fitting(name, files);
  const parts = files.flatMap((file) => [header(`${folder}/${file.name}`, file), file, new Uint8Array(-file.size & (block - 1))]);
  return new Blob([...parts, new Uint8Array(2 * block)], { type: "application/x-tar" });
}

/** A header has room for 100 bytes of a path: what the folder is called is cut, so that its files keep their names. */
function fitting(name: string, files: readonly File[]): string {
  const room = 99 - Math.max(0, ...files.map((file) => text.encode(file.name).length));
  const letters = [...name];
  while (text.encode(letters.join("")).length > room) letters.pop();
  return letters.join("") || "run";
}

function header(path: string, { size, lastModified }: File): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(block);
  const put = (at: number, what: string) => bytes.set(text.encode(what), at);
  const octal = (value: number, digits: number) => `${Math.floor(value).toString(8).padStart(digits, "0")}\0`;
  put(0, path);
  put(100, octal(0o644, 7));
  put(108, octal(0, 7) + octal(0, 7));
  put(124, octal(size, 11));
  put(136, octal(lastModified / 1000, 11));
  put(148, "        0"); // eight spaces where the sum will be, and a plain file
  put(257, "ustar\x0000");
  put(
    148,
    `${octal(
      bytes.reduce((sum, byte) => sum + byte, 0),
      6,
    )} `,
  );
  return bytes;
}
