/** Each head's place in the picture: a row for each layer, a cell for each head, a column for each token. */

export interface Place {
  layer: number;
  head: number;
  /** Tokens first to end - 1 share the column. A narrow cell has fewer columns than tokens. */
  first: number;
  end: number;
}

export interface Cell {
  x: number;
  y: number;
  width: number;
  height: number;
}

const GAP = 3;
const ROW_GAP = 2;

export class HeadGrid {
  readonly height: number;
  /** Columns of one cell. */
  readonly numColumns: number;
  private readonly cellWidth: number;

  constructor(
    readonly width: number,
    readonly numLayers: number,
    readonly numHeads: number,
    readonly numTokens: number,
    readonly rowHeight: number,
  ) {
    this.cellWidth = Math.max(1, (width - GAP * (numHeads - 1)) / numHeads);
    this.numColumns = Math.max(1, Math.min(numTokens, Math.floor(this.cellWidth)));
    this.height = numLayers * (rowHeight + ROW_GAP) - ROW_GAP;
  }

  cell(layer: number, head: number): Cell {
    return {
      x: head * (this.cellWidth + GAP),
      y: layer * (this.rowHeight + ROW_GAP),
      width: this.cellWidth,
      height: this.rowHeight,
    };
  }

  /** The tokens of one column of a cell. */
  tokens(column: number): { first: number; end: number } {
    const at = (index: number) => Math.floor((index * this.numTokens) / this.numColumns);
    return { first: at(column), end: at(column + 1) };
  }

  /** The place drawn at a point; null: a gap, or outside. */
  at(x: number, y: number): Place | null {
    const layer = Math.floor(y / (this.rowHeight + ROW_GAP));
    const head = Math.floor(x / (this.cellWidth + GAP));
    if (layer < 0 || layer >= this.numLayers || head < 0 || head >= this.numHeads) return null;
    const cell = this.cell(layer, head);
    if (x >= cell.x + cell.width || y >= cell.y + cell.height) return null;
    const column = Math.min(this.numColumns - 1, Math.floor(((x - cell.x) / cell.width) * this.numColumns));
    return { layer, head, ...this.tokens(column) };
  }
}
