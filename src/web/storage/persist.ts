/**
 * Asks the browser to keep what this site has stored also when its disk gets full; it may ask the user. Workers cannot ask, so the page does.
 * False where it is refused, or cannot be asked for.
 */
export async function askToPersist(storage: { persist?(): Promise<boolean> } | undefined): Promise<boolean> {
  return (await storage?.persist?.()) ?? false;
}
