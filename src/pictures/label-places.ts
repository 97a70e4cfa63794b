/** A rectangle on the sheet. */
export interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Wanted {
  /** The point that the label belongs to. */
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

const overlap = (a: Rectangle, b: Rectangle): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

const within = (inner: Rectangle, outer: Rectangle): boolean =>
  inner.x >= outer.x &&
  inner.y >= outer.y &&
  inner.x + inner.width <= outer.x + outer.width &&
  inner.y + inner.height <= outer.y + outer.height;

/** Directions in the order of preference: right, above right, below right, left … */
const directions = [0, -45, 45, 180, -135, 135, -20, 20, 160, -160, -70, 70, 110, -110, -90, 90].map(
  (degrees) => (degrees * Math.PI) / 180,
);
const distances = [8, 18, 30, 44, 60, 80, 104];

/** The way from a point to its label, as small squares. */
function between({ x, y }: Pick<Wanted, "x" | "y">, { x: left, y: top, width, height }: Rectangle): Rectangle[] {
  const [dx, dy] = [Math.min(left + width, Math.max(left, x)) - x, Math.min(top + height, Math.max(top, y)) - y];
  const count = Math.floor(Math.hypot(dx, dy) / 4);
  return Array.from({ length: count }, (_, k) => ({
    x: x + ((k + 1) / (count + 1)) * dx - 1,
    y: y + ((k + 1) / (count + 1)) * dy - 1,
    width: 2,
    height: 2,
  }));
}

/** A place for each label near its point, none over another, its line, a point or an obstacle; undefined where there is no room. */
export function labelPlaces(wanted: readonly Wanted[], room: Rectangle, obstacles: readonly Rectangle[] = []): (Rectangle | undefined)[] {
  const fixed: readonly Rectangle[] = [...obstacles, ...wanted.map(({ x, y }) => ({ x: x - 5, y: y - 5, width: 10, height: 10 }))];
  const labels: Rectangle[] = [];
  const leaders: Rectangle[] = [];
  return wanted.map((label) => {
    const free = placesNear(label).filter((place) => within(place, room) && ![...fixed, ...labels].some((other) => overlap(place, other)));
    const isClear = (place: Rectangle) =>
      !leaders.some((other) => overlap(place, other)) &&
      !between(label, place).some((spot) => labels.some((other) => overlap(spot, other)));
    const place = free.find(isClear) ?? free[0]; // a label that a line crosses is better than none
    if (place === undefined) return undefined;
    labels.push(place);
    leaders.push(...between(label, place));
    return place;
  });
}

/** Where a label may stand, the nearest first. */
const placesNear = ({ x, y, width, height }: Wanted): Rectangle[] =>
  distances.flatMap((distance) =>
    directions.map((angle) => {
      const [dx, dy] = [Math.cos(angle), Math.sin(angle)];
      const left = Math.abs(dx) < 0.01 ? -width / 2 : dx < 0 ? -width : 0;
      return { x: x + dx * distance + left, y: y + dy * distance - height / 2, width, height };
    }),
  );
