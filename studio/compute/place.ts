import { signal } from "@preact/signals";
import { connect } from "../../src/entries/web.ts";
import type { Computer } from "../../src/worker/computer.ts";
import { connectHouse } from "./socket.ts";

// Where it is computed: in the house that serves this page (a studio on this machine), or in the page itself. The rest of the app does not
// know which; it shows what is said here.

export type PlaceKind = "house" | "page";

export const kind: PlaceKind = document.querySelector<HTMLMetaElement>('meta[name="qkv-place"]')?.content === "house" ? "house" : "page";

export type Standing =
  | { readonly state: "connecting" }
  | { readonly state: "ready"; readonly computer: Computer }
  | { readonly state: "lost"; readonly message: string }
  | { readonly state: "failed"; readonly message: string };

export const standing = signal<Standing>({ state: "connecting" });

/** The one who computes, or an error that says that there is none now. */
export function computer(): Computer {
  const { value } = standing;
  if (value.state === "ready") return value.computer;
  throw new Error("message" in value ? value.message : "the studio is still starting; try again in a moment");
}

/** In a page, what computes lies beside the app. */
const here = (): Promise<Computer> =>
  connect({
    worker: new URL("./page/worker.js", document.baseURI),
    engine: new URL("./onnxruntime/", document.baseURI),
    storage: "qkv-studio",
  });

/** Connects, and tells whoever wants to know each time that there is somebody new who computes. */
export async function begin(connected: (computer: Computer) => void): Promise<void> {
  const ready = (found: Computer) => {
    standing.value = { state: "ready", computer: found };
    connected(found);
  };
  try {
    if (kind === "house") await connectHouse({ ready, lost: (message) => (standing.value = { state: "lost", message }) });
    else ready(await here());
  } catch (error) {
    standing.value = { state: "failed", message: error instanceof Error ? error.message : String(error) };
  }
}

/** What computes, in few words, and in more. */
export function badge(): { readonly short: string; readonly long: string } {
  const { value } = standing;
  if (value.state === "connecting") return { short: "starting", long: "Looking for what computes." };
  if (value.state !== "ready") return { short: "not connected", long: value.message };
  const { device, storage } = value.computer.report;
  const threads = `${device.threads} ${device.threads === 1 ? "thread" : "threads"}`;
  if (kind === "house")
    return { short: "on this machine", long: `Computed by qkv on this machine, with ${threads}. Runs lie in its folder.` };
  const why = device.threadsReason ? ` ${device.threadsReason}.` : "";
  const where = storage.kept
    ? "Runs are kept by the browser."
    : `Runs are gone with this page: ${storage.reason ?? "the browser keeps none"}.`;
  return {
    short: storage.kept ? "in this page" : "in this page, kept nowhere",
    long: `Computed in this page (${device.chosen}, ${threads}).${why} ${where}`,
  };
}
