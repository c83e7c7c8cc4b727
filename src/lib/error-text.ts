/** Returns the code of a system error, such as `ENOSPC`; undefined for other values. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

const ERROR_TEXTS: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EADDRINUSE: "it is in use",
  EBUSY: "it is in use",
  EDQUOT: "your disk quota is used up",
  EEXIST: "it exists already",
  EFBIG: "the file is too large",
  EIO: "the disk reports an error",
  EISDIR: "it is a folder",
  ELOOP: "too many levels of symbolic links",
  EMFILE: "too many open files",
  ENAMETOOLONG: "the name is too long",
  ENFILE: "too many open files",
  ENODEV: "no such device",
  ENOENT: "no such file or folder",
  ENOSPC: "the disk is full",
  ENOTDIR: "a part of its path is not a folder",
  EPERM: "not permitted",
  EPIPE: "broken pipe",
  EROFS: "the disk is read-only",
  ESTALE: "stale network file handle",
  ETXTBSY: "it is in use",
};

/** Returns the reason for a failure as a clause: `no such file or folder (ENOENT)`. */
export function errorText(error: unknown): string {
  const code = errorCode(error);
  if (code === undefined) return error instanceof Error ? error.message : String(error);
  const text = Object.hasOwn(ERROR_TEXTS, code) ? ERROR_TEXTS[code] : undefined;
  return text === undefined ? code : `${text} (${code})`;
}
