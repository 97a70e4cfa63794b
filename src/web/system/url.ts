/** What lies behind an address. A page has no files of its own: what came along with the code is fetched. */
export function fileURLToPath(url: string | URL): string {
  const { protocol, pathname } = new URL(url);
  return protocol === "file:" ? decodeURIComponent(pathname) : `/${new URL(url).host}${decodeURIComponent(pathname)}`;
}

export const pathToFileURL = (path: string): URL => new URL(`file://${encodeURI(path.startsWith("/") ? path : `/${path}`)}`);
