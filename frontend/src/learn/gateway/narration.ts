/** The request's way through the gateway. */
import { count, duration } from "../../trace/format";
import { line, missing, type Line, type Narration } from "../own/reading-clock";

export const narrateGateway: Narration = (view) => {
  const { accepted, gateway, events, at } = view;
  if (!gateway) return missing(view, "the gateway");
  const lines: Line[] = [
    line(
      `It came as ${gateway.principal.startsWith("key:") ? "a client with a key" : "a signed-in person"}${accepted?.http_version ? `, over HTTP ${accepted.http_version}` : ""}.`,
      0,
      gateway.at,
    ),
    line(`The gateway needed ${duration(gateway.duration_us)} from its arrival.`, 0, gateway.at),
  ];
  for (const { name, limit, remaining } of gateway.limits)
    if (name === "concurrency")
      lines.push(
        line(
          `${count(remaining)} of ${count(limit)} places for open requests were free, and it took one.`,
          gateway.at,
          gateway.at,
        ),
      );
  const end = events.at(-1)?.at ?? gateway.at;
  lines.push(
    line("It gave its place back when it ended.", gateway.at, Math.min(Math.max(end, gateway.at), at)),
  );
  return lines;
};
