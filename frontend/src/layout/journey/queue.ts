/** The wait for the engine: the requests in front, and the worker that takes this one. */
import { counted, duration } from "../../trace/format";
import { queueWaits } from "../../trace/timing/queue-waits";
import type { TraceView } from "../../trace/view";
import { box, line, mix, part, text, type Area, type Shape } from "./shapes";
import { fitted, lines, sansWidth } from "./words";

const SIDE = 26;
const GAP = 8;
const LABEL = 12;
/** Height of the sentence, and of the engine above the track, px. */
const [SAID, ABOVE] = [24, 62];
/** Most lines of one fact. The compute format is a whole sentence. */
const MOST_LINES = 3;

const WHERE = {
  worker: "for a worker",
  engine: "in its engine",
  server: "for the server",
  either: "in the queue",
};

export function queueShapes(view: TraceView, area: Area, beat: number): Shape[] {
  const { queued, started, events } = view;
  if (!queued) return [];
  const newest = events.at(-1)?.event.type;
  const coming = newest === "generation.queued" ? part(beat, 0, 0.8) : 1;
  const entering = started ? (newest === "generation.started" ? part(beat, 0.1, 0.8) : 1) : 0;
  const y = area.y + Math.max(SAID + ABOVE, area.height * 0.36);
  const engine = engineArea(area, y);
  const depth = queued.queue_depth;
  const room = Math.max(0, Math.floor((engine.x - area.x - 24) / (SIDE + GAP)) - 1);
  const numShown = Math.min(depth ?? 0, room);
  const waitX = engine.x - 24 - (numShown + 1) * (SIDE + GAP);
  const ownX = mix(mix(area.x, waitX, coming), engine.x + 16, entering);
  const ahead =
    depth === null
      ? "The server does not report its queue"
      : depth
        ? `${counted(depth, "request")} in front`
        : "None in front";
  const waited = started
    ? `; it waited ${queueWaits(view)
        .map(({ where, start, end }) => `${duration(end - start)} ${WHERE[where]}`)
        .join(", then ")}`
    : "";
  return [
    text("said", area.x, area.y + LABEL, fitted(`${ahead}${waited}`, area.width, 12, sansWidth), {
      ink: "soft",
    }),
    line("track", [area.x, y + SIDE / 2, engine.x, y + SIDE / 2], { ink: "line", width: 2 }),
    ...Array.from({ length: numShown }, (_, index) =>
      box(
        `ahead-${index}`,
        { x: engine.x - 24 - (index + 1) * (SIDE + GAP), y, width: SIDE, height: SIDE },
        {
          fill: "paper",
          stroke: "queue",
          radius: 5,
          opacity: 1 - entering,
        },
      ),
    ),
    ...engineShapes(started, engine, area, entering),
    box("own", { x: ownX, y, width: SIDE, height: SIDE }, { fill: "queue", radius: 5 }),
    text("own-said", ownX + SIDE / 2, y - 8, "yours", { size: 11, ink: "soft", anchor: "middle" }),
  ];
}

function engineArea(area: Area, y: number): Area {
  const width = Math.min(260, area.width * 0.42);
  return { x: area.x + area.width - width, y: y - ABOVE, width, height: ABOVE + 44 + SIDE };
}

/** Draw the engine with its facts. Facts that a remote server does not report are omitted. */
function engineShapes(started: TraceView["started"], engine: Area, area: Area, shown: number): Shape[] {
  const facts = started
    ? [
        started.server ?? "Engine",
        started.worker,
        [started.model, started.quantization].filter(Boolean).join(", "),
      ]
    : ["Engine"];
  const below = [
    started?.device && `computed on ${started.device}`,
    started?.architecture && `${started.architecture} architecture`,
    started?.compute,
  ].filter((words): words is string => !!words);
  return [
    box("engine", engine, { stroke: "queue", fill: "paper", radius: 6 }),
    ...facts.slice(0, 1).map((words) =>
      text("engine-name", engine.x + 14, engine.y + 22, fitted(words, engine.width - 24, 13, sansWidth), {
        size: 13,
        isBold: true,
      }),
    ),
    ...facts.slice(1).map((words, index) =>
      text(
        `fact-${index}`,
        engine.x + 14,
        engine.y + engine.height - 24 + index * 15,
        fitted(words, engine.width - 24, 11, sansWidth),
        {
          size: 11,
          ink: "soft",
          opacity: shown,
        },
      ),
    ),
    ...below
      .flatMap((words) => lines(words, area.width, 12, MOST_LINES))
      .map((words, index) =>
        text(`below-${index}`, area.x, engine.y + engine.height + 48 + index * 20, words, {
          ink: "soft",
          opacity: shown,
        }),
      ),
  ];
}
