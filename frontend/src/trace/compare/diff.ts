/** The shortest edit between two sequences of ids, in linear space: Myers 1986, "An O(ND) Difference Algorithm and Its
 * Variations". Knows nothing of tokens. */

/** A stretch of both sequences; they cover them in order, equal and unequal ones by turns. */
export interface Hunk {
  isSame: boolean;
  a: number;
  aEnd: number;
  b: number;
  bEnd: number;
}

type Ids = readonly number[];

export function diff(a: Ids, b: Ids): Hunk[] {
  const differ = new Differ(a, b);
  differ.part(0, a.length, 0, b.length);
  return hunks(a.length, b.length, differ);
}

/** The number of ids that both begin with. */
export function commonStart(a: Ids, b: Ids): number {
  let at = 0;
  while (at < a.length && at < b.length && a[at] === b[at]) at++;
  return at;
}

export type Side = "a" | "b";

/** The place of one side's index on the other; in an unequal stretch its like-numbered or last one, if any. */
export function partner(found: Hunk[], side: Side, index: number): number | null {
  const isIn = (hunk: Hunk) => (side === "a" ? index < hunk.aEnd : index < hunk.bEnd);
  const hunk = found.find(isIn);
  if (!hunk) return null;
  const [from, to, end] = side === "a" ? [hunk.a, hunk.b, hunk.bEnd] : [hunk.b, hunk.a, hunk.aEnd];
  return end === to ? null : Math.min(to + index - from, end - 1);
}

class Differ {
  readonly isRemoved: Uint8Array;
  readonly isAdded: Uint8Array;
  /** Furthest x on each diagonal x - y, from the start and from the end; `middle` is diagonal 0. */
  private readonly down: Int32Array;
  private readonly up: Int32Array;
  private readonly middle: number;

  constructor(
    private readonly left: Ids,
    private readonly right: Ids,
  ) {
    this.isRemoved = new Uint8Array(left.length);
    this.isAdded = new Uint8Array(right.length);
    this.middle = left.length + right.length + 2;
    this.down = new Int32Array(2 * this.middle + 1);
    this.up = new Int32Array(2 * this.middle + 1);
  }

  /** Marks the uncommon parts of left[a, aEnd) and right[b, bEnd). */
  part(a: number, aEnd: number, b: number, bEnd: number): void {
    while (a < aEnd && b < bEnd && this.left[a] === this.right[b]) [a, b] = [a + 1, b + 1];
    while (a < aEnd && b < bEnd && this.left[aEnd - 1] === this.right[bEnd - 1])
      [aEnd, bEnd] = [aEnd - 1, bEnd - 1];
    if (a === aEnd) this.isAdded.fill(1, b, bEnd);
    else if (b === bEnd) this.isRemoved.fill(1, a, aEnd);
    else {
      const [x, y] = this.meet(a, aEnd, b, bEnd);
      this.part(a, x, b, y);
      this.part(x, aEnd, y, bEnd);
    }
  }

  /** A point of a shortest path: where the furthest paths from both corners first overlap. */
  private meet(a: number, aEnd: number, b: number, bEnd: number): [number, number] {
    const { down, up, middle, left, right } = this;
    const [first, last] = [a - b, aEnd - bEnd];
    const isOdd = ((last - first) & 1) !== 0;
    down[middle + first + 1] = a;
    up[middle + last - 1] = aEnd;
    for (let d = 0; ; d++) {
      for (let k = first - d; k <= first + d; k += 2) {
        const isDown = k === first - d || (k < first + d && down[middle + k + 1]! > down[middle + k - 1]!);
        let x = isDown ? down[middle + k + 1]! : down[middle + k - 1]! + 1;
        while (x < aEnd && x - k < bEnd && left[x] === right[x - k]) x++;
        down[middle + k] = x;
        if (isOdd && k > last - d && k < last + d && up[middle + k]! <= x) return [x, x - k];
      }
      for (let k = last - d; k <= last + d; k += 2) {
        const isUp = k === last + d || (k > last - d && up[middle + k - 1]! < up[middle + k + 1]!);
        let x = isUp ? up[middle + k - 1]! : up[middle + k + 1]! - 1;
        while (x > a && x - k > b && left[x - 1] === right[x - k - 1]) x--;
        up[middle + k] = x;
        if (!isOdd && k >= first - d && k <= first + d && x <= down[middle + k]!) return [x, x - k];
      }
    }
  }
}

function hunks(numLeft: number, numRight: number, { isRemoved, isAdded }: Differ): Hunk[] {
  const found: Hunk[] = [];
  let [a, b] = [0, 0];
  while (a < numLeft || b < numRight) {
    const isSame = a < numLeft && b < numRight && !isRemoved[a] && !isAdded[b];
    const hunk = { isSame, a, aEnd: a, b, bEnd: b };
    if (isSame) while (a < numLeft && b < numRight && !isRemoved[a] && !isAdded[b]) [a, b] = [a + 1, b + 1];
    else {
      while (isRemoved[a]) a++;
      while (isAdded[b]) b++;
    }
    found.push({ ...hunk, aEnd: a, bEnd: b });
  }
  return found;
}
