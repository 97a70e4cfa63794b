// What Node calls "node:path", for paths with "/". A page stands in "/".

export const sep = "/";
export const delimiter = ":";
export const isAbsolute = (path: string): boolean => path.startsWith("/");

/** Without ".", with ".." only at the beginning, and without "//". */
export function normalize(path: string): string {
  if (path === "") return ".";
  const names: string[] = [];
  for (const name of path.split("/")) {
    if (name === "" || name === ".") continue;
    if (name !== "..") names.push(name);
    else if (names.length > 0 && names.at(-1) !== "..") names.pop();
    else if (!isAbsolute(path)) names.push("..");
  }
  const joined = `${isAbsolute(path) ? "/" : ""}${names.join("/")}`;
  if (joined === "") return path.endsWith("/") ? "./" : ".";
  return path.endsWith("/") && joined !== "/" ? `${joined}/` : joined;
}

export const join = (...parts: readonly string[]): string => normalize(parts.filter((part) => part !== "").join("/"));

export function resolve(...parts: readonly string[]): string {
  const from = parts.findLastIndex(isAbsolute);
  const whole = normalize(["", ...parts.slice(Math.max(0, from))].join("/"));
  return whole.length > 1 && whole.endsWith("/") ? whole.slice(0, -1) : whole;
}

export function dirname(path: string): string {
  if (path === "") return ".";
  const end = path.replace(/\/+$/, "").lastIndexOf("/"); // before the last name
  if (end <= 0) return isAbsolute(path) ? "/" : ".";
  return end === 1 && isAbsolute(path) ? "//" : path.slice(0, end);
}

export function basename(path: string, ending = ""): string {
  const bare = path.replace(/\/+$/, "");
  const name = bare.slice(bare.lastIndexOf("/") + 1);
  return ending !== "" && name !== ending && name.endsWith(ending) ? name.slice(0, -ending.length) : name;
}

export function extname(path: string): string {
  const name = basename(path);
  const at = name.lastIndexOf(".");
  return at <= 0 || name === ".." ? "" : name.slice(at);
}

export function relative(from: string, to: string): string {
  const [a, b] = [from, to].map((path) =>
    resolve(path)
      .split("/")
      .filter((name) => name !== ""),
  );
  let same = 0;
  while (same < Math.min(a.length, b.length) && a[same] === b[same]) same++;
  return [...a.slice(same).map(() => ".."), ...b.slice(same)].join("/");
}

export const posix = { sep, delimiter, isAbsolute, normalize, join, resolve, dirname, basename, extname, relative };
