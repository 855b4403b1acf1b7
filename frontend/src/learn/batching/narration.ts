/** The other requests in this request's steps. */
import { counted, duration } from "../../trace/format";
import { queueWaits } from "../../trace/timing/queue-waits";
import { line, missing, type Line, type Narration } from "../own/reading-clock";

const UNTIL = {
  worker: "in the queue until a worker was free",
  engine: "in that worker's engine until there was room",
  server: "until the server began to answer",
  either: "in the queue",
};

export const narrateBatch: Narration = (view) => {
  const { queued, started, tokens, prefill, drafts } = view;
  if (!queued) return missing(view, "a queue");
  const ahead = queued.queue_depth;
  const lines: Line[] = [
    line(
      ahead === null
        ? "The server does not report the number of requests in front."
        : ahead
          ? `${counted(ahead, "request")} waited in front of it in the queue.`
          : "No request waited in front of it in the queue.",
      0,
      queued.at,
    ),
  ];
  if (started)
    for (const { where, start, end } of queueWaits(view))
      lines.push(line(`It waited ${duration(end - start)} ${UNTIL[where]}.`, start, end));
  const [first, last] = [tokens[0], tokens.at(-1)];
  const chunk = prefill[0];
  if (chunk)
    lines.push(
      line(
        `The model read its prompt in ${counted(prefill.length, "step")}, the first with ${chunk.num_sequences === null ? "an unreported number of" : chunk.num_sequences - 1 || "no"} others.`,
        chunk.at - chunk.step_us,
        prefill.at(-1)!.at,
      ),
    );
  if (!first || !last) return lines;
  const sizes = tokens.flatMap(({ batch_size }) => (batch_size === null ? [] : [batch_size]));
  if (!sizes.length)
    return [...lines, line("The server does not report other requests in its steps.", first.at, last.at)];
  const most = Math.max(...sizes);
  lines.push(
    line(
      most === 1
        ? `All its ${counted(tokens.length, "token")} were computed alone: no other request used the engine.`
        : `At most ${counted(most - 1, "other request")} shared a step with it; ${counted(sizes.filter((size) => size === 1).length, "token")} were computed alone.`,
      first.at,
      last.at,
    ),
  );
  // A pass that verified guesses gave several tokens, and took its time once.
  const steps = tokens.filter(
    ({ position }) => (drafts.passes.get(position)?.first ?? position) === position,
  );
  const mean = (chosen: number[]) => chosen.reduce((sum, us) => sum + us, 0) / chosen.length;
  const shared = steps.filter(({ batch_size, step_us }) => (batch_size ?? 1) > 1 && step_us !== null);
  const alone = steps.filter(({ batch_size, step_us }) => batch_size === 1 && step_us !== null);
  const time = (chosen: typeof tokens) => duration(mean(chosen.map(({ step_us }) => step_us!)));
  if (alone.length) lines.push(line(`A step alone took ${time(alone)} on average.`, first.at, last.at));
  if (shared.length)
    lines.push(line(`A step shared with others took ${time(shared)} on average.`, first.at, last.at));
  return lines;
};
