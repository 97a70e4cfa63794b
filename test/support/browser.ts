import { type Browser, chromium as driver, type Page } from "playwright-core";

// A real browser that npm brings, without a download: @sparticuz/chromium unpacks itself into the temporary folder.

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

/** Its own libraries are unpacked only where the machine lacks them: asked for by the variable that a bare machine of its makers has. */
async function executable(bare: boolean): Promise<string> {
  if (bare) process.env.AWS_LAMBDA_JS_RUNTIME ??= "nodejs20.x";
  const { default: chromium } = await import("@sparticuz/chromium");
  return chromium.executablePath();
}

export async function openBrowser(): Promise<Browser> {
  const bare = process.env.QKV_BARE_BROWSER === "1";
  return driver.launch({ executablePath: await executable(bare), headless: true, args: flags });
}

/** Whether a browser can be started here; CI must not go on without one. */
export async function browserOrReason(): Promise<Browser | string> {
  try {
    return await openBrowser();
  } catch (error) {
    if (process.env.CI) throw error;
    return `no browser could be started (${error instanceof Error ? error.message.split("\n")[0] : String(error)})`;
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
