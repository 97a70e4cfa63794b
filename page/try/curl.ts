import { create } from "../dom.ts";
import { AnswerError, type Asked, base, wantsKey } from "./api.ts";

// The same question for a terminal.

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

export function curlOf({ path, body }: Asked, origin: string, withKey: boolean): string {
  const parts = [
    `curl ${body.stream === true ? "-N " : ""}${origin}${path}`,
    "-H 'Content-Type: application/json'",
    ...(withKey ? ['-H "Authorization: Bearer $QKV_API_KEY"'] : []),
    `-d ${quoted(JSON.stringify(body, null, 2))}`,
  ];
  return parts.join(" \\\n  ");
}

export function curlPart(asked: () => Asked): { readonly element: HTMLElement; refresh(): void } {
  const command = create("pre", { tabindex: "0", "aria-label": "The command" });
  const copy = create("button", { type: "button", class: "quiet" }, "copy");
  const element = create("details", { class: "curl" }, create("summary", {}, "the same with curl"), create("div", {}, command, copy));
  let withKey = false;
  const refresh = () => {
    copy.textContent = "copy";
    if (element.open) command.textContent = words(asked, withKey);
  };
  element.addEventListener("toggle", async () => {
    refresh();
    if (!element.open) return;
    withKey = await wantsKey().catch(() => false);
    refresh();
  });
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(command.textContent ?? "");
      copy.textContent = "copied";
    } catch {
      getSelection()?.selectAllChildren(command); // a page that came without https may not write there
      copy.textContent = "selected";
    }
  });
  return { element, refresh };
}

function words(asked: () => Asked, withKey: boolean): string {
  try {
    return curlOf(asked(), `${location.origin}${base()}`, withKey);
  } catch (error) {
    if (error instanceof AnswerError) return error.message;
    throw error;
  }
}
