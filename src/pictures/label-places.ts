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
const directions = [0, -45, 45, 180, -135, 135, -90, 90].map((degrees) => (degrees * Math.PI) / 180);
const distances = [8, 18, 30, 44, 60, 80, 104];

/** A place for each label near its point, none over another, a point or an obstacle; undefined where there is no room. */
export function labelPlaces(wanted: readonly Wanted[], room: Rectangle, obstacles: readonly Rectangle[] = []): (Rectangle | undefined)[] {
  const taken: Rectangle[] = [...obstacles, ...wanted.map(({ x, y }) => ({ x: x - 5, y: y - 5, width: 10, height: 10 }))];
  return wanted.map(({ x, y, width, height }) => {
    for (const distance of distances)
      for (const angle of directions) {
        const [dx, dy] = [Math.cos(angle), Math.sin(angle)];
        const place = {
          x: x + dx * distance + (Math.abs(dx) < 0.01 ? -width / 2 : dx < 0 ? -width : 0),
          y: y + dy * distance - height / 2,
          width,
          height,
        };
        if (!within(place, room) || taken.some((other) => overlap(place, other))) continue;
        taken.push(place);
        return place;
      }
    return undefined;
  });
}
