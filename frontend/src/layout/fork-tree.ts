/** The answers to one question as a tree. A fork is a line that leaves its parent's line at the fork's position. */

export interface Branch {
  requestId: string;
  forkedFrom: string | null;
  /** Tokens kept of the parent's answer. */
  position: number | null;
  /** All tokens of its answer, the kept ones included; null: not known yet. */
  numTokens: number | null;
}

export interface Row<Kind extends Branch> {
  branch: Kind;
  /** The row of its parent's answer; null: that answer is not here. */
  parent: number | null;
  /** Start and end of its own line, in tokens. */
  from: number;
  to: number;
  /** Its number among the answers, the oldest first. */
  number: number;
}

/** Rows from top to bottom: each answer, then its forks, the largest position first, so that no two lines cross. */
export function forkTree<Kind extends Branch>(branches: Kind[]): Row<Kind>[] {
  const rows: Row<Kind>[] = [];
  const numbers = new Map(branches.map(({ requestId }, index) => [requestId, index + 1]));
  const childrenOf = (id: string) =>
    branches
      .filter(({ forkedFrom }) => forkedFrom === id)
      .sort((a, b) => (b.position ?? 0) - (a.position ?? 0));
  function place(branch: Kind, parent: number | null) {
    const from = parent === null ? 0 : (branch.position ?? 0);
    const row = rows.length;
    const to = Math.max(branch.numTokens ?? 0, from + 1);
    rows.push({ branch, parent, from, to, number: numbers.get(branch.requestId)! });
    for (const child of childrenOf(branch.requestId)) place(child, row);
  }
  for (const branch of branches)
    if (branch.forkedFrom === null || !numbers.has(branch.forkedFrom)) place(branch, null);
  return rows;
}
