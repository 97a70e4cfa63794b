import { create, part } from "./dom.ts";
import type { Viewer } from "./state.ts";

// Which attention, layer and head is shown, and whether on light or dark paper.

const kindWords = { self: "self-attention", cross: "cross-attention", encoder: "encoder self-attention" } as const;

export function choices(viewer: Viewer): void {
  const [kind, layer, head] = ["kind", "layer", "head"].map((id) => part(id, HTMLSelectElement));
  fill(
    kind,
    viewer.data.looks.map((look, i) => [`${i}`, kindWords[look.kind]]),
  );
  part("kind-choice", HTMLLabelElement).hidden = viewer.data.looks.length < 2;
  kind.addEventListener("change", () => viewer.chooseLook(Number(kind.value)));
  layer.addEventListener("change", () => viewer.chooseHead(Number(layer.value), viewer.head));
  head.addEventListener("change", () => viewer.chooseHead(viewer.layer, Number(head.value)));
  viewer.whenHeadChanges(() => {
    const { layers } = viewer.look;
    fill(
      layer,
      layers.map(({ layer: number }, i) => [`${i}`, `${number}`]),
    );
    const mean: [string, string][] = viewer.heads.length > 1 ? [["-1", "mean of all"]] : [];
    fill(head, [...viewer.heads.map(({ head: number }, i): [string, string] => [`${i}`, `${number}`]), ...mean]);
    [layer.value, head.value] = [`${viewer.layer}`, `${viewer.head}`];
    kind.value = `${viewer.data.looks.indexOf(viewer.look)}`;
  });
}

const fill = (choice: HTMLSelectElement, options: readonly (readonly [value: string, words: string])[]): void =>
  choice.replaceChildren(...options.map(([value, words]) => create("option", { value }, words)));

const themes = ["system", "light", "dark"] as const;

/** The paper that the system has, unless somebody wants the other. */
export function theme(): void {
  const button = part("theme", HTMLButtonElement);
  let now = 0;
  const repaint = () => document.dispatchEvent(new Event("repaint"));
  const show = () => {
    const name = themes[now];
    if (name === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    button.textContent = `paper: ${name}`;
    repaint();
  };
  button.addEventListener("click", () => {
    now = (now + 1) % themes.length;
    show();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  show();
}

/** What is shown stands in the address, so that it can be passed on. */
export function address(viewer: Viewer): void {
  const given = new URLSearchParams(location.hash.slice(1));
  const number = (name: string) => (/^-?\d+$/.test(given.get(name) ?? "") ? Number(given.get(name)) : undefined);
  const index = viewer.data.looks.findIndex(({ kind }) => kind === given.get("kind"));
  viewer.chooseLook(Math.max(0, index));
  viewer.chooseHead(number("layer") ?? 0, number("head") ?? 0);
  const [query, key] = [number("query"), number("key")];
  const fits = (place: number | undefined, count: number) => place !== undefined && place >= 0 && place < count;
  const spot = {
    ...(fits(query, viewer.look.targetTokens.length) && { query }),
    ...(fits(key, viewer.look.tokens.length) && { key }),
  };
  if (Object.keys(spot).length > 0) viewer.pin(spot);
  const write = () => {
    const { look, layer, head, pinned } = viewer;
    const words = Object.entries({ kind: look.kind, layer, head, ...pinned }).map(([name, value]) => `${name}=${value}`);
    const hash = `#${words.join("&")}`;
    if (hash !== location.hash) history.replaceState(null, "", hash);
  };
  viewer.whenSpotChanges(write);
}
