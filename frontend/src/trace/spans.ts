/** A request's spans, lane by lane, from its view. */
import type { StageId } from "../theme/stages";
import { browserMoments, serverStart } from "./phases";
import type { TraceView } from "./view";

export interface Span {
  stage: StageId;
  name: string;
  /** µs since acceptance. */
  start: number;
  end: number;
  /** For spans that stand for a generated token. */
  position?: number;
}

export function spans(view: TraceView): Span[] {
  const found: Span[] = [];
  const add = (stage: StageId, name: string, start: number, end: number, position?: number) =>
    found.push({ stage, name, start, end: Math.max(start, end), position });
  const { accepted, gateway, inputCheck, context, prompt, queued, started, generation, bill } = view;
  const browser = browserMoments(view);
  const over = view.finished ?? view.failed;
  if (browser.keydown != null && browser.sent != null)
    add("browser", "key press to send", browser.keydown, browser.sent);
  if (browser.sent != null && browser.responded != null)
    add("browser", "POST and its reply", browser.sent, browser.responded);
  if (browser.firstPaint != null && browser.lastPaint != null)
    add("browser", "first to last paint", browser.firstPaint, browser.lastPaint);
  if (accepted && gateway) add("gateway", "gateway", accepted.received_at, gateway.at);
  if (inputCheck)
    add(
      "safety",
      `input check: ${inputCheck.verdict}`,
      inputCheck.at - inputCheck.duration_us,
      inputCheck.at,
    );
  if (context) add("context", "context assembly", context.at - context.duration_us, context.at);
  if (prompt) add("prompt", `${prompt.ids.length} tokens`, prompt.at - prompt.duration_us, prompt.at);
  const admitted =
    serverStart(view) ?? (view.prefill[0] ? view.prefill[0].at - view.prefill[0].step_us : started?.at);
  if (queued) add("queue", "waiting for the engine", queued.at, admitted ?? (over ? over.at : view.at));
  for (const chunk of view.prefill)
    add("prefill", `prompt tokens ${chunk.start} to ${chunk.end}`, chunk.at - chunk.step_us, chunk.at);
  if (started?.server && !view.prefill.length && view.tokens[0])
    add("prefill", "the server's own queue and prefill", started.at, view.tokens[0].at);
  view.tokens.slice(1).forEach((token, index) => {
    // Where the step's duration is unknown: since the token before arrived.
    const start = token.step_us === null ? view.tokens[index]!.at : token.at - token.step_us;
    add("decode", `token ${token.position + 1}`, start, token.at, token.position);
  });
  for (const check of view.outputChecks)
    add("guard", `output check: ${check.verdict}`, check.at - check.duration_us, check.at);
  if (generation && bill) add("bill", "bill", generation.at, bill.at);
  if (bill && over) add("bill", "trace saved", bill.at, over.at);
  return found;
}
