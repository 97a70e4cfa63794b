// Failures of the storage are told as a system tells them, with the fields that Node gives them: whoever asks for a code finds it.

const meanings = {
  ENOENT: "no such file or directory",
  EEXIST: "file already exists",
  ENOTDIR: "not a directory",
  EISDIR: "illegal operation on a directory",
  ENOTEMPTY: "directory not empty",
  EBADF: "bad file descriptor",
  EINVAL: "invalid argument",
  EPERM: "operation not permitted",
  EBUSY: "resource busy or locked",
  EXDEV: "cross-device link not permitted",
  ENOSPC: "no space left on device",
  EIO: "i/o error",
  ESRCH: "no such process",
  ENOSYS: "function not implemented",
} as const;

export type SystemCode = keyof typeof meanings;

export class SystemError extends Error {
  readonly code: SystemCode;
  readonly syscall: string;
  declare readonly path?: string;
  declare readonly dest?: string;

  constructor(code: SystemCode, syscall: string, path?: string, dest?: string, cause?: unknown) {
    const places = `${path === undefined ? "" : ` '${path}'`}${dest === undefined ? "" : ` -> '${dest}'`}`;
    super(`${code}: ${meanings[code]}, ${syscall}${places}`, cause === undefined ? undefined : { cause });
    this.code = code;
    this.syscall = syscall;
    if (path !== undefined) this.path = path;
    if (dest !== undefined) this.dest = dest;
  }
}

/** What a handle threw, as a system would have told it. A page's share of the disk is its disk. */
export function asSystemError(error: unknown, syscall: string, path?: string): SystemError {
  if (error instanceof SystemError) return error;
  const full = error instanceof Error && error.name === "QuotaExceededError";
  return new SystemError(full ? "ENOSPC" : "EIO", syscall, path, undefined, error);
}
