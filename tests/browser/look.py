"""How a part of a page looks, kept as a coarse picture: the mean colour of every 12 by 12 pixels.

Fonts are rasterised a little differently on every machine, so pixels cannot be compared; means of areas larger than a
stroke can. What moved by more than a few pixels, vanished, appeared or changed its colour changes many of them.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator

LOOKS = Path(__file__).parent / "looks"
CELL_PX = 12
SIZE_PX = 3
"""How much larger or smaller the part may be: text's widths are rounded differently."""
CELL_DIFFERENCE = 26
"""Of 255, in any of the three colours: from here on a cell is another one."""
MOST_OTHER_CELLS = 0.02
_COARSE = """async ([picture, cell]) => {
  const bytes = Uint8Array.from(atob(picture), (char) => char.charCodeAt(0));
  const bitmap = await createImageBitmap(new Blob([bytes], {type: "image/png"}));
  const [width, height] = [Math.ceil(bitmap.width / cell), Math.ceil(bitmap.height / cell)];
  const canvas = new OffscreenCanvas(width * cell, height * cell);
  const context = canvas.getContext("2d", {willReadFrequently: true});
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(bitmap, 0, 0);
  const rows = [];
  for (let y = 0; y < height; y++) {
    let row = "";
    for (let x = 0; x < width; x++) {
      const {data} = context.getImageData(x * cell, y * cell, cell, cell);
      for (let channel = 0; channel < 3; channel++) {
        let sum = 0;
        for (let at = channel; at < data.length; at += 4) sum += data[at];
        row += Math.round(sum / (cell * cell)).toString(16).padStart(2, "0");
      }
    }
    rows.push(row);
  }
  return {width: bitmap.width, height: bitmap.height, rows};
}"""


@dataclass(frozen=True)
class Look:
    """One part as it was drawn."""

    width: int
    height: int
    rows: list[str]
    """Of cells, each the hexadecimal of its three mean colours."""


def look_at(part: Locator) -> tuple[Look, bytes]:
    """The part's look, and its picture as PNG."""
    picture = part.screenshot(animations="disabled", caret="hide")
    found: dict[str, Any] = part.page.evaluate(_COARSE, [base64.b64encode(picture).decode(), CELL_PX])
    return Look(**found), picture


def difference(kept: Look, seen: Look) -> str:
    """In words; empty where they look the same."""
    if abs(kept.width - seen.width) > SIZE_PX or abs(kept.height - seen.height) > SIZE_PX:
        return f"it was {kept.width} by {kept.height} px and is {seen.width} by {seen.height} px"
    pairs = [
        (x // 6, y)
        for y, (before, after) in enumerate(zip(kept.rows, seen.rows, strict=False))
        for x in range(0, min(len(before), len(after)), 6)
        if _is_other(before[x : x + 6], after[x : x + 6])
    ]
    num_cells = sum(len(row) for row in kept.rows) // 6
    if len(pairs) <= MOST_OTHER_CELLS * num_cells:
        return ""
    places = ", ".join(f"{x * CELL_PX},{y * CELL_PX}" for x, y in pairs[:12])
    return f"{len(pairs)} of {num_cells} areas look different; the first at {places} px"


def _is_other(before: str, after: str) -> bool:
    colours = zip(bytes.fromhex(before), bytes.fromhex(after), strict=True)
    return any(abs(one - two) > CELL_DIFFERENCE for one, two in colours)


def read(name: str) -> Look | None:
    """What is kept; None when nothing was recorded yet."""
    path = LOOKS / f"{name}.json"
    return Look(**json.loads(path.read_text("utf-8"))) if path.exists() else None


def write(name: str, look: Look) -> None:
    rows = ",\n".join(json.dumps(row) for row in look.rows)
    LOOKS.mkdir(exist_ok=True)
    head = f'"width": {look.width}, "height": {look.height}'
    (LOOKS / f"{name}.json").write_text(f'{{{head}, "rows": [\n{rows}\n]}}\n', "utf-8")
