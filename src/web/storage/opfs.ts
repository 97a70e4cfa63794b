import type { Handle, Handles } from "./handle.ts";

// The files of a storage in the browser's own file system, which only a worker can write to at once.

/** One call moves at most so much: browsers copy it on the way. */
const largestCall = 2 ** 26;
/** Whoever had it open before may need a moment to be gone. */
const tries = 60;
const between = 50;

/** Opens a storage, and makes it if it is not there. */
export async function openHandles(folder: string): Promise<Handles> {
  const root = await navigator.storage.getDirectory();
  const place = await root.getDirectoryHandle(folder, { create: true });
  const opened: Handle[] = [];
  try {
    for (const name of ["index-0", "index-1", "data"]) opened.push(await openHandle(place, name));
  } catch (error) {
    for (const handle of opened) handle.close();
    throw error;
  }
  const [first, second, data] = opened;
  return { indexes: [first, second], data };
}

/** Removes a storage with all that is in it; nobody may have it open. */
export async function removeHandles(folder: string): Promise<void> {
  const root = await navigator.storage.getDirectory();
  await root.removeEntry(folder, { recursive: true }).catch((error: unknown) => {
    if (!(error instanceof DOMException) || error.name !== "NotFoundError") throw error;
  });
}

async function openHandle(place: FileSystemDirectoryHandle, name: string): Promise<Handle> {
  const file = await place.getFileHandle(name, { create: true });
  for (let left = tries; ; left--) {
    try {
      return adapted(await file.createSyncAccessHandle());
    } catch (error) {
      if (left <= 0 || !(error instanceof DOMException) || error.name !== "NoModificationAllowedError") throw error;
      await new Promise((resolve) => setTimeout(resolve, between));
    }
  }
}

const adapted = (handle: FileSystemSyncAccessHandle): Handle => ({
  read(into, at) {
    let done = 0;
    while (done < into.length) {
      const wanted = into.subarray(done, done + largestCall);
      const count = handle.read(wanted, { at: at + done });
      if (count === 0) break;
      if (count > wanted.length) throw new DOMException(`the browser cannot read what it keeps (${count | 0})`, "InvalidStateError");
      done += count;
    }
    return done;
  },
  write(from, at) {
    for (let done = 0; done < from.length; ) {
      const given = from.subarray(done, done + largestCall);
      const count = handle.write(given, { at: at + done });
      // a private window of Chromium without room throws nothing: it says -8, as a number without a sign
      if (count === 0 || count > given.length) throw new DOMException("the browser wrote nothing", "QuotaExceededError");
      done += count;
    }
  },
  truncate: (size) => handle.truncate(size),
  size: () => handle.getSize(),
  flush: () => handle.flush(),
  close: () => handle.close(),
});
