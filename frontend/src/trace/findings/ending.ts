/** Findings on the end: all endings but the model's own end of an answer that no check flagged. */
import type { SafetyChecked } from "../../protocol/events";
import { counted, duration } from "../format";
import { cutOf, cutSentence, failureTitle, isAllWithheld, outcomeOf } from "../outcome";
import { takeOvers } from "../take-overs";
import { categoryWords, judged, worstScore } from "../words/safety-words";
import type { TraceView } from "../view";
import type { Finding } from "./finding";

/** Weight of a finding that decides the whole answer. */
const WHOLE = 1;

export function endings(view: TraceView): Finding[] {
  return [...outcome(view), ...flags(view), ...resumptions(view)];
}

function outcome(view: TraceView): Finding[] {
  const { failed, withheld, cancelledAt, cancelledBy, tokens } = view;
  switch (outcomeOf(view)) {
    case "failed":
      return [
        {
          kind: "failed",
          sentence: `${failureTitle(failed!)}. ${failed!.message}`,
          weight: WHOLE,
          at: failed!.at,
        },
      ];
    case "blocked":
      return [{ kind: "blocked", sentence: blocked(view.inputCheck), weight: WHOLE }];
    case "withheld":
      return [
        {
          kind: "withheld",
          sentence: `The output check withheld ${isAllWithheld(view) ? "the whole answer" : "the rest of the answer"}: ${counted(withheld!.num_tokens, "token")} (${categoryWords(withheld!.category)}).`,
          weight: WHOLE,
        },
      ];
    case "stopped":
      return [
        {
          kind: "stopped",
          sentence:
            cancelledBy === "user" || cancelledBy === "operator"
              ? `${cancelledBy === "user" ? "The user" : "An operator"} stopped it ${tokens.length ? `after ${counted(tokens.length, "token")}` : "before the first token"}.`
              : `It was ended after ${counted(tokens.length, "token")}: ${cancelledBy}.`,
          weight: WHOLE,
          at: cancelledAt!,
        },
      ];
    case "length":
      return [{ kind: "cut", sentence: cut(view), weight: WHOLE }];
    case "repetition":
      // The wordings report the repetition.
      return [];
    case "done":
      return ownEnd(view);
    case "running":
      return [];
  }
}

function blocked(check: SafetyChecked | null): string {
  const why = check ? `: ${judged(worstScore(check))}` : "";
  return `The safety check blocked the message before any model read it${why}.`;
}

function cut(view: TraceView): string {
  const found = cutOf(view);
  if (!found) return "The answer reached a length limit, so it may break off.";
  if (found.by !== "setting") return cutSentence(found);
  return `The answer reached the length limit (${counted(found.asked, "token")}), so it may break off.`;
}

/** The model's own end is a finding only for an empty answer, or for one that the request's stop texts ended. */
function ownEnd({ accepted, generation, text, tokens, toolCalls }: TraceView): Finding[] {
  const last = tokens.at(-1);
  if (last?.is_special && tokens.length === 1 && !text && !toolCalls.length)
    return [
      {
        kind: "empty",
        sentence: "The model ended its turn at once, so the answer is empty.",
        weight: WHOLE,
        position: last.position,
      },
    ];
  const { stop = [], stop_token_ids = [] } = accepted?.params ?? {};
  const isOwn = !last || last.is_special || generation?.finish_reason !== "stop";
  const isByToken = last !== undefined && stop_token_ids.includes(last.id);
  if ((isOwn && !isByToken) || !(stop.length || stop_token_ids.length)) return [];
  const which = isByToken ? "a stop token" : stop.length === 1 ? `the stop text “${stop[0]}”` : "a stop text";
  return [
    {
      kind: "stop-text",
      sentence: `The answer ended at ${which} from the request's settings. The model did not end its turn itself.`,
      weight: WHOLE,
      position: last!.position,
    },
  ];
}

/** The findings of checks that flagged a text. */
function flags({ inputCheck, fileChecks, outputChecks }: TraceView): Finding[] {
  const checks = [inputCheck, ...fileChecks, ...outputChecks].filter((check) => check?.verdict === "flag");
  const [first] = checks;
  if (!first) return [];
  const worst = worstScore(first);
  const what = first.layer === "input" ? "the message" : first.subject ? "an attached file" : "the answer";
  return [
    {
      kind: "flagged",
      sentence: `The safety check flagged ${what} (${judged(worst)}) but allowed it.`,
      weight: worst?.score ?? 0,
    },
  ];
}

function resumptions(view: TraceView): Finding[] {
  const { events, interruptions } = view;
  const resumed = events.flatMap(({ event }) => (event.type === "generation.resumed" ? [event] : []));
  const last = resumed.at(-1);
  if (!last) return [];
  const before = interruptions.filter(({ at }) => at <= last.at).at(-1);
  const paused = takeOvers(view).reduce((sum, { start, end }) => sum + (end ?? last.at) - start, 0);
  const pause = paused > 0 ? ` The answer paused for ${duration(paused)}.` : "";
  const times = interruptions.length > 1 ? `, ${interruptions.length} times in all` : "";
  const sentence = `Its worker ${before?.cause === "stopped" ? "was stopped" : "was lost"}${times}. Attempt ${last.attempt}${last.worker ? ` on ${last.worker}` : ""} continued after ${counted(last.num_tokens, "token")}.${pause}`;
  return [{ kind: "resumed", sentence, weight: WHOLE, at: last.at }];
}
