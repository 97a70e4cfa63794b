import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { pageBundle } from "./page-bundle.ts";
import type { Told } from "./storage-worker.ts";

// A page of a real server (a storage wants one) with nothing on it, and workers of it that are asked and ended from here.

const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'";

/** Serves a worker's script; gives back the address of its page. */
export async function serveWorker(entry: string): Promise<{ readonly url: string; close(): Promise<unknown> }> {
  const script = await pageBundle(`import "${entry}";`);
  const server = createServer(({ url }, response) => {
    const js = url === "/worker.js";
    response.writeHead(url === "/" || js ? 200 : 204, {
      "content-type": js ? "text/javascript" : "text/html",
      "content-security-policy": policy,
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-embedder-policy": "require-corp",
    });
    response.end(js ? script : url === "/" ? "<!doctype html><title>storage</title>" : undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, close: () => new Promise((resolve) => server.close(resolve)) };
}

interface Workers {
  workers: Map<number, { worker: Worker; last: number }>;
}

let made = 0;

export interface PageWorker {
  ask<Answer>(task: string, given?: unknown): Promise<Answer>;
  /** Begins something and leaves it, for so many milliseconds; then the worker is ended. Gives back the last number that it said was saved. */
  endAfter(task: string, given: unknown, milliseconds: number): Promise<number>;
  end(): Promise<void>;
}

export async function startWorker(page: Page): Promise<PageWorker> {
  const number = ++made;
  await page.evaluate((key) => {
    const here = globalThis as unknown as Workers;
    here.workers ??= new Map();
    here.workers.set(key, { worker: new Worker("/worker.js", { type: "module" }), last: 0 });
  }, number);
  const told = (task: string, given: unknown): Promise<Told> =>
    page.evaluate(
      ([key, asked, data]) =>
        new Promise<Told>((resolve) => {
          const worker = (globalThis as unknown as Workers).workers.get(key as number)?.worker as Worker;
          worker.onmessage = ({ data: said }) => resolve(said);
          worker.onerror = ({ message }) => resolve({ failed: { message } });
          worker.postMessage([asked, data]);
        }),
      [number, task, given] as const,
    );
  return {
    async ask(task, given = {}) {
      const { value, failed } = await told(task, given);
      if (failed) throw Object.assign(new Error(failed.message), { code: failed.code });
      return value as never;
    },
    endAfter: (task, given, milliseconds) =>
      page.evaluate(
        ([key, asked, data, wait]) =>
          new Promise<number>((resolve) => {
            const entry = (globalThis as unknown as Workers).workers.get(key as number);
            if (!entry) return;
            entry.worker.onmessage = ({ data: said }) => {
              entry.last = said.saved ?? entry.last;
            };
            entry.worker.postMessage([asked, data]);
            setTimeout(() => {
              entry.worker.terminate();
              resolve(entry.last);
            }, wait as number);
          }),
        [number, task, given, milliseconds] as const,
      ),
    end: () => page.evaluate((key) => (globalThis as unknown as Workers).workers.get(key)?.worker.terminate(), number),
  };
}
