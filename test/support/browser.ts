import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, chromium as driver, type Page } from "playwright-core";

// A real browser that npm brings: @sparticuz/chromium unpacks itself, with the few libraries that a bare machine lacks. Nothing is downloaded.

const flags = [
  "--no-sandbox",
  "--headless",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Where it unpacks, and that it unpacks its libraries too, it is told by the environment; ours is left as it was. */
async function unpacked(folder: string): Promise<{ readonly executablePath: string; readonly env: Record<string, string> }> {
  const before = { ...process.env };
  try {
    Object.assign(process.env, { TMPDIR: folder, AWS_LAMBDA_JS_RUNTIME: "nodejs20.x" });
    const { default: chromium } = await import("@sparticuz/chromium");
    const executablePath = await chromium.executablePath();
    const { LD_LIBRARY_PATH = "", PATH = "" } = process.env;
    const FONTCONFIG_PATH = fontsIn(folder);
    return { executablePath, env: { LD_LIBRARY_PATH, FONTCONFIG_PATH, PATH, HOME: folder } };
  } finally {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    Object.assign(process.env, before);
  }
}

/** The browser's own list of fonts names a folder where it is not unpacked, and a form without any font ends it. */
function fontsIn(folder: string): string {
  const fonts = join(import.meta.dirname, "../../node_modules/dejavu-fonts-ttf/ttf");
  const list = `<?xml version="1.0"?><fontconfig><dir>${fonts}</dir><cachedir>${join(folder, "font-cache")}</cachedir></fontconfig>`;
  const place = join(folder, "font-list");
  mkdirSync(place);
  writeFileSync(join(place, "fonts.conf"), list);
  return place;
}

/** A browser in a folder of its own, or why there is none; CI must not go on without one. */
export async function startBrowser(
  more: readonly string[] = [],
): Promise<{ readonly browser?: Browser; readonly reason?: string; stop(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), "qkv-browser-"));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const browser = await driver.launch({ ...(await unpacked(folder)), headless: true, args: [...flags, ...more] });
    const stop = async () => {
      await browser.close();
      remove();
    };
    return { browser, stop };
  } catch (error) {
    remove();
    if (process.env.CI) throw error;
    return {
      reason: `no browser could be started here (${error instanceof Error ? error.message.split("\n")[0] : error})`,
      stop: async () => {},
    };
  }
}

export interface Watched {
  readonly page: Page;
  /** Errors, warnings and requests beside the page's own file. */
  readonly complaints: string[];
}

/** A page of a file, of which everything is noted that it should not do. */
export async function openFile(browser: Browser, file: string, options: Parameters<Browser["newPage"]>[0] = {}): Promise<Watched> {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 }, ...options });
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("request", (request) => {
    if (request.url().split("#")[0] !== `file://${file}`) complaints.push(`request: ${request.url()}`);
  });
  await page.goto(`file://${file}`);
  return { page, complaints };
}
