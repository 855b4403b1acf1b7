/** The message at the gateway: its text, the limits that let it pass, and the safety scores beside their thresholds. */
import type { SafetyChecked, SafetyScore } from "../../protocol/events";
import { counted, duration } from "../../trace/format";
import { amountText } from "../../trace/limits";
import { messageLength } from "../../trace/context/reading";
import { categoryWords } from "../../trace/words/safety-words";
import { verdictWords } from "../../trace/verdicts";
import { checkAtGateway } from "../../trace/journey/scenes";
import type { TraceView } from "../../trace/view";
import { box, line, mix, part, text, turn, type Area, type Shape } from "./shapes";
import { fitted, lines, sansWidth } from "./words";

const SIZES = [24, 17];
const LEADING = 1.45;
const ROW = 24;
/** Height below the text: the gateway, the check and its scores. */
const BELOW = ROW * 9 + 60;

/** Draw the gateway. `question`: its text, which the log has only after the context is assembled; null: it has none. */
export function gatewayShapes(view: TraceView, area: Area, beat: number, question: string | null): Shape[] {
  const newest = view.events.at(-1)?.event.type;
  const during = (type: string) => (newest === type ? beat : 1);
  const said = saidShapes(question, view, area, during("request.accepted"));
  const checksTop = said.bottom + ROW * 1.5;
  return [
    ...said.shapes,
    ...limitShapes(view, { ...area, y: checksTop }, during("gateway.checked")),
    ...checkShapes(checkAtGateway(view), { ...area, y: checksTop + ROW * 2.2 }, during("safety.checked")),
  ];
}

/** Break the question into lines, in the largest type that has room. */
function typeset(question: string, { width, height }: Area): { size: number; written: string[] } {
  for (const size of SIZES) {
    const most = Math.max(1, Math.floor((height - BELOW - 34) / (size * LEADING)));
    const written = lines(question, width - 24, size, most + 1);
    if (written.length <= most || size === SIZES.at(-1))
      return { size, written: lines(question, width - 24, size, most) };
  }
  return { size: 17, written: [] };
}

function saidShapes(question: string | null, view: TraceView, area: Area, beat: number) {
  const { size, written } = question === null ? { size: 17, written: [] } : typeset(question, area);
  const bytes = question === null ? "" : `, ${counted(new TextEncoder().encode(question).length, "byte")}`;
  const top = area.y + 34;
  const height = Math.max(1, written.length) * size * LEADING;
  const dx = mix(-24, 0, part(beat, 0, 0.7));
  const opacity = part(beat, 0, 0.7);
  const shapes: Shape[] = [
    text(
      "said",
      area.x,
      area.y + 12,
      fitted(`${messageLength(view, question)}${bytes}`, area.width, 12, sansWidth),
      { ink: "soft" },
    ),
    box("rule", { x: area.x, y: top - 4, width: 2, height: height + 4 }, { fill: "gateway" }),
    ...written.map((words, index) =>
      text(`line-${index}`, area.x + 14 + dx, top + size * (0.95 + index * LEADING), words, {
        size,
        opacity,
      }),
    ),
  ];
  if (question === null) {
    const words = fitted("This log does not hold its text.", area.width - 24, 14, sansWidth);
    shapes.push(text("unknown", area.x + 14, top + 16, words, { size: 14, ink: "faint" }));
  }
  return { shapes, bottom: top + height };
}

function limitShapes({ gateway }: TraceView, area: Area, beat: number): Shape[] {
  if (!gateway)
    return [text("gateway", area.x, area.y + 12, "The gateway is still checking it.", { ink: "faint" })];
  const limits = gateway.limits.map(
    (limit) =>
      `${limit.name === "concurrency" ? "open requests" : limit.name.replaceAll("_", " ")}: ${amountText(limit, limit.remaining)} of ${amountText(limit, limit.limit)} left`,
  );
  const words = ["Gateway: signed in", ...limits, duration(gateway.duration_us)].join(" · ");
  return [
    line("gateway", [area.x, area.y - 8, area.x + area.width * part(beat, 0, 0.8), area.y - 8], {
      ink: "gateway",
    }),
    text("gateway-said", area.x, area.y + 12, fitted(words, area.width, 12, sansWidth), {
      opacity: part(beat, 0, 0.8),
    }),
  ];
}

function checkShapes(check: SafetyChecked | null, area: Area, beat: number): Shape[] {
  if (!check)
    return [
      line("check", [area.x, area.y - 8, area.x + area.width, area.y - 8], { ink: "line" }),
      text("check-said", area.x, area.y + 12, "The safety check runs at the same time.", {
        ink: "faint",
      }),
    ];
  const words = `Safety check: ${verdictWords(check.verdict)} · ${duration(check.duration_us)}`;
  return [
    line("check", [area.x, area.y - 8, area.x + area.width, area.y - 8], { ink: "safety" }),
    text("check-said", area.x, area.y + 12, fitted(words, area.width, 12, sansWidth), {
      ink: check.verdict === "allow" ? "ink" : "danger",
    }),
    ...check.scores.flatMap((score, index) =>
      scoreShapes(score, { ...area, y: area.y + 24 + index * ROW }, turn(beat, index, check.scores.length)),
    ),
  ];
}

/** A bar up to the score, and a tick at its threshold. */
function scoreShapes(score: SafetyScore, { x, y, width }: Area, shown: number): Shape[] {
  const nameWidth = Math.min(130, width * 0.34);
  const figureWidth = 54;
  const scale = Math.max(10, width - nameWidth - figureWidth);
  const left = x + nameWidth;
  const { category } = score;
  return [
    text(`name-${category}`, x, y + 12, categoryWords(category), { ink: "soft" }),
    box(`ground-${category}`, { x: left, y: y + 5, width: scale, height: 6 }, { fill: "wash" }),
    box(
      `score-${category}`,
      { x: left, y: y + 5, width: scale * Math.min(1, score.score) * shown, height: 6 },
      { fill: score.verdict === "allow" ? "safety" : "danger" },
    ),
    line(
      `limit-${category}`,
      [left + scale * score.threshold, y + 1, left + scale * score.threshold, y + 15],
      {
        ink: "ink",
        width: 1.5,
      },
    ),
    text(`figure-${category}`, x + width, y + 12, score.score.toFixed(2), {
      ink: "soft",
      font: "mono",
      anchor: "end",
      opacity: shown,
    }),
  ];
}
