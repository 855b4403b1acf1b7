/** The last fifteen minutes in parts of a quarter of a minute: from points to what is drawn. Pure. */
import type { LiveWorker, Point } from "../../protocol/api";

export const PART_MS = 15_000;
export const NUM_PARTS = 60;
export const WINDOW_MS = NUM_PARTS * PART_MS;

/** A value per part; null: nothing is known of it. */
export type Course = (number | null)[];
export type Value = (point: Point) => number | null;

/** The beginning of the part that a moment lies in. */
export function startOf(ms: number): number {
  return Math.floor(ms / PART_MS) * PART_MS;
}

/** The beginnings of the parts up to a moment. The last part is not over. */
export function startsOf(nowMs: number): number[] {
  const last = startOf(nowMs);
  return Array.from({ length: NUM_PARTS }, (_, part) => last - (NUM_PARTS - 1 - part) * PART_MS);
}

/** The mean of each part. */
export function courseOf(points: readonly Point[], starts: readonly number[], value: Value): Course {
  return ratioOf(points, starts, value, (point) => (value(point) === null ? null : 1));
}

/** The cache's hit rate of each part; null also where nothing was looked up. */
export function hitCourse(points: readonly Point[], starts: readonly number[]): Course {
  return ratioOf(
    points,
    starts,
    (point) => point.num_hit,
    (point) => point.num_queried,
  );
}

function ratioOf(points: readonly Point[], starts: readonly number[], above: Value, below: Value): Course {
  const [tops, bottoms] = [starts.map(() => 0), starts.map(() => 0)];
  for (const point of points) {
    const part = Math.floor((point.at_ms - starts[0]!) / PART_MS);
    if (part < 0 || part >= starts.length) continue;
    tops[part]! += above(point) ?? 0;
    bottoms[part]! += below(point) ?? 0;
  }
  return tops.map((top, part) => (bottoms[part]! > 0 ? top / bottoms[part]! : null));
}

/** Courses added up. A worker of which nothing is known adds nothing; null: nothing is known of any. */
export function summed(courses: readonly Course[], starts: readonly number[]): Course {
  return starts.map((_, part) => sumOf(courses.map((course) => course[part] ?? null)));
}

/** The sum of what is known; null: nothing is. */
export function sumOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length ? known.reduce((sum, value) => sum + value, 0) : null;
}

/** The hit rate of all these points; null: nothing was looked up. */
export function hitRate(points: readonly Point[]): number | null {
  const num = sumOf(points.map((point) => point.num_queried)) ?? 0;
  return num > 0 ? (sumOf(points.map((point) => point.num_hit)) ?? 0) / num : null;
}

/** The share of the workers' time that their steps took; null: nothing is known. A step may be longer than a part. */
export function busyShare(points: readonly Point[]): number | null {
  const known = points.filter(({ since_ms, busy_ms }) => since_ms !== null && busy_ms !== null);
  const time = sumOf(known.map(({ since_ms }) => since_ms)) ?? 0;
  return time ? Math.min(1, (sumOf(known.map(({ busy_ms }) => busy_ms)) ?? 0) / time) : null;
}

/** The course of that share. */
export function busyCourse(all: readonly (readonly Point[])[], starts: readonly number[]): Course {
  const course = ratioOf(
    all.flat(),
    starts,
    ({ busy_ms }) => busy_ms,
    ({ since_ms, busy_ms }) => (busy_ms === null ? null : since_ms),
  );
  return course.map((share) => share && Math.min(1, share));
}

/** The share of all workers' blocks in use, each worker's share weighed by its blocks; null: no worker tells. */
export function blocksUsed(workers: readonly LiveWorker[]): number | null {
  const known = workers.filter(({ point, num_blocks }) => num_blocks && point && point.kv_used !== null);
  const total = known.reduce((sum, { num_blocks }) => sum + num_blocks!, 0);
  return total
    ? known.reduce((sum, { num_blocks, point }) => sum + num_blocks! * point!.kv_used!, 0) / total
    : null;
}

/** The course of that share. */
export function blocksCourse(
  workers: readonly LiveWorker[],
  points: ReadonlyMap<string, readonly Point[]>,
  starts: readonly number[],
): Course {
  const known = workers
    .filter(({ num_blocks }) => num_blocks)
    .map(({ name, num_blocks }) => ({
      num: num_blocks!,
      course: courseOf(points.get(name) ?? [], starts, (point) => point.kv_used),
    }));
  return starts.map((_, part) => {
    const there = known.filter(({ course }) => course[part] !== null);
    const total = there.reduce((sum, { num }) => sum + num, 0);
    return total ? there.reduce((sum, { num, course }) => sum + num * course[part]!, 0) / total : null;
  });
}

/** The points with a newer one: none twice, and none older than the window. */
export function withPoint(points: readonly Point[], newer: Point): Point[] {
  const last = points.at(-1);
  if (last && newer.at_ms <= last.at_ms) return points as Point[];
  return [...points.filter((point) => point.at_ms > newer.at_ms - WINDOW_MS - PART_MS), newer];
}
