import { checkNumbers, checkSome } from "./check.ts";
import { hullOf, type Place, strictlyInside } from "./hull.ts";
import { cellsOf, prose, shortened } from "./label.ts";
import { labelPlaces, type Rectangle } from "./label-places.ts";
import { rounded } from "./number.ts";
import { element, group, heading, headingWidth, hover, paint, seriesFill, seriesStroke, sheet, text, textWidth } from "./svg.ts";

/** One panel: keys and queries, projected to a plane. */
export interface Geometry {
  readonly title: string;
  /** `selectable`: whether some query gives this key the highest score of all. */
  readonly keys: readonly { readonly x: number; readonly y: number; readonly label: string; readonly selectable: boolean }[];
  /** Queries pulled back through W_K, into the space of the keys. Only their direction chooses; their length is drawn to fit. */
  readonly queries: readonly { readonly x: number; readonly y: number }[];
}

const side = 340;
const gap = 28;
const top = 74;
/** Up to so many keys each has its label beside it. */
const mostLabels = 40;

/** What a norm does to the keys: panels side by side, such as with and without it. Keys that no query can select are orange crosses. */
export function layerNormGeometry(panels: readonly Geometry[], title = "Which keys can be selected"): string {
  checkSome(title, panels, "panels");
  const width = Math.max(gap + panels.length * (side + gap), headingWidth(title), 460);
  const below = top + side;
  return sheet(
    { width, height: below + 56, title: `${title}: ${panels.map((panel) => panel.title).join("; ")}` },
    heading(title),
    ...panels.map((panel, i) => panelOf(panel, gap + i * (side + gap))),
    element("circle", { cx: gap + 6, cy: below + 32, r: 4.5, ...seriesFill(0) }),
    text("key that some query selects", { x: gap + 17, y: below + 32, size: 11 }),
    cross(gap + 206, below + 32),
    text("key that no query can select", { x: gap + 217, y: below + 32, size: 11 }),
    element("path", { d: `M${gap + 402} ${below + 32}h16`, fill: "none", "stroke-width": 1.5, ...seriesStroke(2) }),
    text("query", { x: gap + 424, y: below + 32, size: 11 }),
  );
}

function panelOf({ title, keys, queries }: Geometry, left: number): string {
  checkSome(title, keys, "keys");
  checkNumbers(
    `${title}, places`,
    [...keys, ...queries].flatMap(({ x, y }) => [x, y]),
  );
  const reach = Math.max(...keys.map(({ x, y }) => Math.hypot(x, y))) || 1;
  const queryReach = Math.max(0, ...queries.map(({ x, y }) => Math.hypot(x, y))) || 1;
  const [middleX, middleY] = [left + side / 2, top + side / 2];
  const unit = (0.42 * side) / reach;
  const at = ({ x, y }: Place): Place => ({ x: middleX + unit * x, y: middleY - unit * y });
  const tip = ({ x, y }: Place) => at({ x: (1.06 * reach * x) / queryReach, y: (1.06 * reach * y) / queryReach });
  const lost = keys.filter(({ selectable }) => !selectable).length;
  const share = lost === 0 ? `all ${keys.length} keys can be selected` : `${lost} of ${keys.length} keys can never be selected`;
  const rays = queries.map(tip).map(({ x, y }) => `M${rounded(middleX)} ${rounded(middleY)}L${rounded(x)} ${rounded(y)}`);
  return group(
    {},
    text(prose(title, 44), { x: left, y: 46, size: 12, bold: true }),
    text(share, { x: left, y: 63, size: 11, paint: "soft" }),
    element("rect", { x: left, y: top, width: side, height: side, rx: 4, ...paint("blank") }),
    element("path", { d: `M${left} ${middleY}h${side}M${middleX} ${top}v${side}`, fill: "none", ...paint("faint") }),
    outline(keys, at),
    rays.length === 0
      ? ""
      : element("path", {
          d: rays.join(""),
          fill: "none",
          "stroke-width": 1,
          "stroke-opacity": rays.length > 60 ? 0.3 : 0.7,
          ...seriesStroke(2),
        }),
    ...keys.map((key) => keyOf(key, at(key))),
    keys.length <= mostLabels ? namesOf(keys, at, { x: left, y: top, width: side, height: side }) : "",
  );
}

function namesOf(keys: Geometry["keys"], at: (place: Place) => Place, room: Rectangle): string {
  const names = keys.map(({ label }) => shortened(label, 10));
  const wanted = keys.map((key, i) => ({ ...at(key), width: textWidth(cellsOf(names[i]), 10), height: 12 }));
  const places = labelPlaces(wanted, room);
  return places.map((place, i) => (place ? text(names[i], { x: place.x, y: place.y + 6, size: 10 }) : "")).join("");
}

/** The keys' convex hull, where it says something: in a plane exactly its corners can be selected. */
function outline(keys: Geometry["keys"], at: (place: Place) => Place): string {
  const hull = hullOf(keys);
  if (hull.length < 3 || keys.some((key) => key.selectable && strictlyInside(hull, key))) return "";
  const corners = hull.map(at).map(({ x, y }) => `${rounded(x)} ${rounded(y)}`);
  return element("path", { d: `M${corners.join("L")}z`, fill: "none", "stroke-dasharray": "3 3", ...paint("line") });
}

function keyOf({ label, selectable }: Geometry["keys"][number], { x, y }: Place): string {
  const mark = selectable ? element("circle", { cx: x, cy: y, r: 4.5, ...seriesFill(0) }) : cross(x, y);
  return group({}, hover(`${shortened(label, 40)}: ${selectable ? "some query selects it" : "no query can select it"}`), mark);
}

const cross = (x: number, y: number): string =>
  element("path", { d: `M${rounded(x - 4)} ${rounded(y - 4)}l8 8m0 -8l-8 8`, fill: "none", "stroke-width": 2.5, ...seriesStroke(1) });
