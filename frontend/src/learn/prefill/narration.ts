/** The speeds at which the request's prompt was read and its answer written. */
import { counted, duration } from "../../trace/format";
import { firstTextUs } from "../../trace/view";
import { line, missing, type Line, type Narration } from "../own/reading-clock";

export const narratePrefill: Narration = (view) => {
  const { prefill, tokens, releases } = view;
  const [first, last] = [tokens[0], tokens.at(-1)];
  const chunks = prefill.filter(({ at }) => !first || at <= first.at);
  if (!chunks.length) return missing(view, "the reading of the prompt");
  const from = chunks[0]!.at - chunks[0]!.step_us;
  const end = chunks.at(-1)!.at;
  const numRead = chunks.reduce((sum, chunk) => sum + chunk.end - chunk.start, 0);
  const readUs = chunks.reduce((sum, { step_us }) => sum + step_us, 0);
  const speed = numRead / (readUs / 1e6);
  const lines: Line[] = [
    line(
      `${counted(numRead, "prompt token")} were read in ${counted(chunks.length, "step")}, ${duration(readUs)}.`,
      from,
      end,
    ),
    line(`That is ${speed.toFixed(0)} tokens a second, ${duration(readUs / numRead)} for each.`, from, end),
  ];
  const firstText = firstTextUs(view);
  if (releases[0] && firstText !== null)
    lines.push(
      line(
        `The first text came ${duration(firstText)} after the request was accepted${firstText < releases[0].at ? ", the time for choosing tokens left out" : ""}.`,
        0,
        releases[0].at,
      ),
    );
  if (!first || !last || tokens.length < 2) return lines;
  const us = last.at - first.at;
  const written = (tokens.length - 1) / (us / 1e6);
  if (us > 0)
    lines.push(
      line(
        `The ${counted(tokens.length - 1, "token")} after the first took ${duration(us)}: ${written.toFixed(0)} a second.`,
        first.at,
        last.at,
      ),
      line(
        speed > written
          ? `Reading was ${(speed / written).toFixed(1)} times as fast as writing.`
          : "Reading was no faster than writing here, because so short a prompt does not fill a step.",
        from,
        last.at,
      ),
    );
  return lines;
};
