/** The request's text as it left, piece by piece. */
import { sharedText } from "../../trace/bytes";
import { counted, duration } from "../../trace/format";
import { line, missing, type Line, type Narration } from "../own/reading-clock";

export const narrateStream: Narration = (view) => {
  const { releases, tokens, outputChecks, client, accepted } = view;
  const [first, last] = [releases[0], releases.at(-1)];
  if (!first || !last) return missing(view, "released text");
  const sizes = releases.map(({ num_tokens }, index) => num_tokens - (releases[index - 1]?.num_tokens ?? 0));
  const most = Math.max(...sizes);
  const lines: Line[] = [
    line(
      `The first text left ${duration(first.at)} after the request was accepted: ${counted(first.num_tokens, "token")}, “${first.text.trim()}”.`,
      0,
      first.at,
    ),
    line(
      `${counted(tokens.length, "token")} left in ${counted(releases.length, "frame")} of text; the largest held ${counted(most, "token")}.`,
      first.at,
      last.at,
    ),
  ];
  const shared = sharedText(tokens.map(({ piece }) => piece));
  const numParts = shared.filter((text) => text !== null).length;
  lines.push(
    line(
      numParts
        ? `${counted(numParts, "token")} of them ended or began within a character, so their bytes waited for one another.`
        : "Each of its tokens was whole characters, so no byte had to wait.",
      first.at,
      last.at,
    ),
  );
  const buffered = outputChecks.map(({ buffered_us }) => buffered_us);
  if (buffered.length)
    lines.push(
      line(
        `Text was held for ${duration(Math.max(...buffered))} at most, until the output check had read it.`,
        first.at,
        last.at,
      ),
    );
  if (client?.last_paint_unix_us && accepted) {
    const painted = client.last_paint_unix_us + (client.clock_offset_us ?? 0) - accepted.accepted_unix_us;
    lines.push(
      line(
        `Your browser painted the last text ${duration(painted)} after the request was accepted.`,
        last.at,
        view.at,
      ),
    );
  } else lines.push(line("The browser did not report when it painted the text.", last.at, view.at));
  return lines;
};
