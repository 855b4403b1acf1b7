/** One frame of a clip as shapes: the journey's own picture in a frame that names the question and the scene. */
import { box, line, shifted, text, type Area, type Shape } from "../../layout/journey/shapes";
import { sceneShapes } from "../../layout/journey/scene";
import { tokenLines, type WrittenToken } from "../../layout/token-lines";
import { closestCall, oddestWord } from "../../trace/sampling/calls";
import { endText } from "../../trace/compare/figures";
import { counted, duration, money, percent } from "../../trace/format";
import { messageOf } from "../../trace/context/reading";
import { surpriseOf } from "../../trace/sampling/surprise";
import { caption } from "../../trace/journey/scene-words";
import { SCENES, type SceneId } from "../../trace/journey/scenes";
import { tokensPerSecond } from "../../trace/words/sentences";
import { nameOf } from "../../trace/token-name";
import { allTokens, answerText, firstTextUs, type TraceView } from "../../trace/view";
import type { Moment } from "./plan";

/** CSS pixels. */
export const [WIDTH, HEIGHT] = [960, 680];
const MARGIN = 32;
const STRIP = 34;
const STAGE = { x: MARGIN, y: 130, width: WIDTH - 2 * MARGIN, height: HEIGHT - 130 - 52 };
/** Scale of the picture over that of a page: a clip is watched small. */
const ZOOM = 1.22;
/** Width of an average letter over its size. */
const LETTER = 0.53;

/** view: at the moment; whole: at the end. */
export function frameShapes(view: TraceView, whole: TraceView, moment: Moment): Shape[] {
  const question = messageOf(whole);
  const shapes = [box("paper", { x: 0, y: 0, width: WIDTH, height: HEIGHT }, { fill: "paper" })];
  if (moment.kind === "title") return [...shapes, ...titleShapes(whole, question)];
  if (moment.kind === "end") return [...shapes, ...endShapes(whole, question)];
  return [
    ...shapes,
    ...stripShapes(moment.scene!),
    ...pictureShapes(view, moment, question),
    ...footShapes(view),
  ];
}

/** The path's scenes by name, the current one marked. */
function stripShapes(current: SceneId): Shape[] {
  const width = (WIDTH - 2 * MARGIN) / SCENES.length;
  const at = SCENES.findIndex(({ id }) => id === current);
  return SCENES.flatMap(({ id, title, stage }, index): Shape[] => {
    const x = MARGIN + index * width;
    const isHere = id === current;
    const fill = index <= at ? stage : "line";
    return [
      box(
        `strip-${id}`,
        { x, y: STRIP + 8, width: width - 4, height: isHere ? 6 : 3 },
        { fill, radius: 1.5 },
      ),
      text(`strip-name-${id}`, x, STRIP, title, {
        size: 12,
        ink: isHere ? "ink" : "soft",
        ...(isHere && { isBold: true }),
      }),
    ];
  });
}

function pictureShapes(view: TraceView, { kind, scene, beat }: Moment, question: string | null): Shape[] {
  if (kind === "words") return [...captionShapes(wordsCaption(view)), ...writtenShapes(view, STAGE)];
  const size = { width: STAGE.width / ZOOM, height: STAGE.height / ZOOM };
  const shapes = enlarged(sceneShapes(view, size, beat, question), ZOOM);
  return [...captionShapes(caption(view, scene!, beat)), ...shifted(shapes, STAGE.x, STAGE.y)];
}

function enlarged(shapes: Shape[], by: number): Shape[] {
  return shapes.map((shape) => {
    if (shape.kind === "text") return { ...shape, x: shape.x * by, y: shape.y * by, size: shape.size * by };
    if (shape.kind === "line") {
      const { x1, y1, x2, y2 } = shape;
      return { ...shape, x1: x1 * by, y1: y1 * by, x2: x2 * by, y2: y2 * by };
    }
    const { x, y, width, height } = shape;
    return { ...shape, x: x * by, y: y * by, width: width * by, height: height * by };
  });
}

const wordsCaption = ({ tokens }: TraceView) =>
  `${counted(tokens.length, "token")} drawn. A higher bar means that the model expected the word less.`;

function captionShapes(words: string): Shape[] {
  return broken(words, WIDTH - 2 * MARGIN, 16, 2).map((each, index) =>
    text(`caption-${index}`, MARGIN, 80 + index * 23, each, { size: 16 }),
  );
}

function writtenShapes(view: TraceView, area: Area): Shape[] {
  return tokenLines(writtenTokens(view), area, 17).shapes;
}

/** An answer's tokens with their surprise; the newest is marked. */
export function writtenTokens({ tokens }: TraceView): WrittenToken[] {
  return tokens.map((token, index) => ({
    label: nameOf(token),
    bits: surpriseOf(token),
    isMarked: index === tokens.length - 1,
  }));
}

function footShapes(view: TraceView): Shape[] {
  return [
    text("time", WIDTH - MARGIN, HEIGHT - 18, duration(view.at), { size: 14, font: "mono", anchor: "end" }),
    text("brand", MARGIN, HEIGHT - 18, "Sightglass: recorded, not mocked up", { size: 13, ink: "soft" }),
  ];
}

function titleShapes(view: TraceView, question: string | null): Shape[] {
  const lines = broken(question ?? "One request", WIDTH - 4 * MARGIN, 38, 4);
  const top = HEIGHT / 2 - lines.length * 24;
  return [
    text("brand", MARGIN * 2, 70, "Sightglass", { size: 20, isBold: true, ink: "accent" }),
    text("about", MARGIN * 2, 98, `inside one request · ${view.accepted?.model ?? "model unknown"}`, {
      size: 15,
      ink: "soft",
    }),
    ...lines.map((each, index) =>
      text(`question-${index}`, MARGIN * 2, top + 40 + index * 48, each, { size: 38, isBold: true }),
    ),
  ];
}

function endShapes(view: TraceView, question: string | null): Shape[] {
  const figures = figuresOf(view);
  const left = MARGIN * 2;
  const answer = broken(answerText(view), WIDTH - 4 * MARGIN, 17, 5);
  const top = 150 + answer.length * 26;
  return [
    text("brand", left, 62, "Sightglass", { size: 20, isBold: true, ink: "accent" }),
    text("question", left, 104, broken(question ?? "One request", WIDTH - 4 * MARGIN, 20, 1)[0] ?? "", {
      size: 20,
      isBold: true,
    }),
    ...answer.map((each, index) =>
      text(`answer-${index}`, left, 138 + index * 26, each, { size: 17, ink: "soft" }),
    ),
    line("rule", [left, top, WIDTH - left, top]),
    ...figures.flatMap(([name, figure], index) => [
      text(`name-${index}`, left, top + 38 + index * 32, name, { size: 17, ink: "soft" }),
      text(`figure-${index}`, left + 230, top + 38 + index * 32, figure, { size: 19, font: "mono" }),
    ]),
  ];
}

function figuresOf(view: TraceView): [string, string][] {
  const first = firstTextUs(view);
  const speed = tokensPerSecond(view);
  const [close, odd] = [closestCall(view), oddestWord(view)];
  const cut = (name: string) => ([...name].length > 18 ? `${[...name].slice(0, 17).join("")}…` : name);
  return [
    ["Tokens", `${allTokens(view).length}${speed === null ? "" : `, ${speed.toFixed(0)} a second`}`],
    ["First text", first === null ? "none" : duration(first)],
    [
      "Closest call",
      close
        ? `“${cut(close.first.name)}” ${percent(close.first.chance)}, “${cut(close.second.name)}” ${percent(close.second.chance)}`
        : "unknown",
    ],
    ["Oddest word", odd ? `“${cut(odd.name)}” ${percent(odd.chance)}` : "unknown"],
    ["Cost", view.bill?.lines.length ? money(view.bill.total_nano, view.bill.currency) : "unpriced"],
    ["Ended by", endText(view)],
  ];
}

/** Lines that roughly fit, at most `most`. */
function broken(words: string, width: number, size: number, most: number): string[] {
  const perLine = Math.floor(width / (size * LETTER));
  const lines: string[] = [""];
  for (const word of words.split(/\s+/).filter(Boolean)) {
    const shown = [...word].slice(0, perLine).join("");
    const at = lines.at(-1)!;
    if (at && at.length + shown.length + 1 > perLine) lines.push(shown);
    else lines[lines.length - 1] = at ? `${at} ${shown}` : shown;
  }
  if (lines.length <= most) return lines;
  return [...lines.slice(0, most - 1), `${lines[most - 1]!.slice(0, perLine - 2)} …`];
}
