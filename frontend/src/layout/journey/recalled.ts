/** The memories that were recalled, each with its similarity as a bar up to 1, and the least similarity across. */
import type { MemoryRecalled } from "../../protocol/events";
import { counted } from "../../trace/format";
import { box, line, text, turn, type Area, type Shape } from "./shapes";
import { fitted } from "./words";

const ROW = 46;
const BAR = 10;
const TOP = 40;

export function recalledShapes(recalled: MemoryRecalled, area: Area, beat: number): Shape[] {
  const { items, num_considered, threshold } = recalled;
  const room = Math.max(1, Math.floor((area.height - TOP) / ROW));
  const shown = items.slice(0, room);
  const at = area.x + area.width * threshold;
  const end = area.y + TOP + Math.max(1, shown.length) * ROW;
  const told = `${counted(num_considered, "memory", "memories")} compared with the message`;
  return [
    text("recalled", area.x, area.y + 12, told, { ink: "soft" }),
    line("threshold", [at, area.y + TOP - 12, at, end], { ink: "faint" }),
    text("threshold-name", at + 4, area.y + TOP - 6, `joins from ${threshold.toFixed(2)} on`, {
      ink: "soft",
      size: 11,
    }),
    ...shown.flatMap((item, index) => {
      const y = area.y + TOP + index * ROW;
      const opacity = turn(beat, index, shown.length);
      const width = area.width * Math.max(0, item.similarity) * opacity;
      const words = item.is_blocked ? "blocked by the safety policy" : item.text.replaceAll("\n", "↵");
      return [
        box(`memory-${index}-all`, { x: area.x, y: y + 8, width: area.width, height: BAR }, { fill: "wash" }),
        box(`memory-${index}`, { x: area.x, y: y + 8, width, height: BAR }, { fill: "context" }),
        text(`memory-${index}-words`, area.x, y + 34, fitted(words, area.width - 60, 12), { opacity }),
        text(`memory-${index}-similarity`, area.x + area.width, y + 34, item.similarity.toFixed(2), {
          anchor: "end",
          font: "mono",
          size: 11,
          ink: "soft",
          opacity,
        }),
      ];
    }),
    ...(shown.length < items.length
      ? [text("more", area.x, end + 14, `… ${items.length - shown.length} more`, { ink: "faint" })]
      : []),
  ];
}
