/** Each scene's small still picture on the path. */
import { massesOf } from "./masses";
import { box, line, type Area, type Ink, type Shape } from "./shapes";
import { checkAtGate, numReleased, readings, type SceneId } from "../../trace/scenes";
import type { TraceView } from "../../trace/view";

export const MINI = { width: 56, height: 26 };

/** Of a scene of which nothing is recorded yet: nothing but its ground. */
export function miniShapes(view: TraceView, id: SceneId): Shape[] {
  return MINIS[id](view, { x: 0, y: 0, ...MINI });
}

const share = (part: number, whole: number) => Math.min(1, Math.max(0, whole ? part / whole : 0));

function bar(key: string, { x, y, width }: Area, row: number, part: number, fill: Ink): Shape[] {
  const area = { x, y: y + row, width, height: 5 };
  return [
    box(`${key}-ground`, area, { fill: "wash" }),
    box(key, { ...area, width: Math.max(part ? 1.5 : 0, width * part) }, { fill }),
  ];
}

const MINIS: Record<SceneId, (view: TraceView, area: Area) => Shape[]> = {
  message: ({ accepted, gateway }, { width }) =>
    accepted
      ? [1, 0.8, 0.45].map((long, index) =>
          box(
            `line-${index}`,
            { x: 0, y: 4 + index * 8, width: width * long, height: 3 },
            {
              fill: gateway ? "gateway" : "faint",
            },
          ),
        )
      : [],
  check: (view, area) =>
    (checkAtGate(view)?.scores ?? [])
      .slice(0, 3)
      .flatMap(({ category, score, verdict }, index) =>
        bar(category, area, 1 + index * 8, share(score, 1), verdict === "allow" ? "safety" : "danger"),
      ),
  window: ({ context }, area) =>
    context
      ? [
          box("all", { x: 0.5, y: 7.5, width: area.width - 1, height: 11 }, { stroke: "faint" }),
          box(
            "used",
            {
              x: 1,
              y: 8,
              width: Math.max(2, (area.width - 2) * share(context.num_prompt_tokens, context.window)),
              height: 10,
            },
            { fill: "context" },
          ),
        ]
      : [],
  tokens: ({ prompt }) =>
    (prompt?.pieces ?? [])
      .slice(-10)
      .map((_, index) =>
        box(
          `chip-${index}`,
          { x: (index % 5) * 11.5, y: 4 + Math.floor(index / 5) * 10, width: 9, height: 7 },
          { fill: index % 2 ? "prompt" : "prompt-pale", radius: 1.5 },
        ),
      ),
  queue: ({ queued, started }, { width }) =>
    queued
      ? [
          line("track", [0, 13, width - 14, 13]),
          box("engine", { x: width - 14, y: 5, width: 13, height: 16 }, { stroke: "queue", radius: 2 }),
          box(
            "own",
            { x: started ? width - 11 : width - 26, y: 9.5, width: 7, height: 7 },
            { fill: "queue", radius: 1.5 },
          ),
        ]
      : [],
  cache: ({ cache, prompt }, area) =>
    cache ? bar("hit", area, 10, share(cache.num_cached_tokens, prompt?.ids.length ?? 0), "prefill") : [],
  prefill: (view, area) => {
    const last = readings(view).at(-1);
    return last ? bar("done", area, 10, share(last.end, last.total), "prefill") : [];
  },
  draw: ({ tokens, accepted }, { width }) => {
    const token = tokens.at(-1);
    if (!token?.candidate_ids.length || !accepted) return [];
    return massesOf(token, accepted.params, 4).rows.map(({ shares, isDrawn }, index) =>
      box(
        `mass-${index}`,
        { x: 0, y: 2 + index * 6, width: Math.max(1, width * shares[0]!), height: 4 },
        { fill: isDrawn ? "accent" : "step-3" },
      ),
    );
  },
  stream: (view, area) => {
    const num = view.tokens.length + (view.withheld?.num_tokens ?? 0);
    return num
      ? bar("sent", area, 10, share(numReleased(view), num), view.withheld ? "danger" : "guard")
      : [];
  },
  bill: ({ bill, tokens }, { width }) =>
    bill || tokens.length
      ? [0.7, 0.5]
          .flatMap((long, index) => [
            box(
              `name-${index}`,
              { x: 0, y: 5 + index * 7, width: width * 0.55 * long, height: 2 },
              { fill: "faint" },
            ),
            box(
              `sum-${index}`,
              { x: width * 0.75, y: 5 + index * 7, width: width * 0.25, height: 2 },
              { fill: "faint" },
            ),
          ])
          .concat([box("total", { x: 0, y: 20, width, height: 2.5 }, { fill: bill ? "bill" : "wash" })])
      : [],
};
