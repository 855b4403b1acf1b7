/** What a running request does, to be read aloud. A sentence holds as long as the activity, so it is said once. */
import { isTakenOver } from "../take-overs";
import { atLastGeneration, type TraceView } from "../view";

/** hasText: the page has a part of the answer. isSilent: tokens have come, and none comes now. */
export function activity(view: TraceView, hasText: boolean, isSilent: boolean): string {
  // From the first token on, step mode itself says what it waits for.
  if (view.isStepped) return "";
  if (isTakenOver(atLastGeneration(view))) return "The worker ended; another goes on.";
  if (isSilent) return "No token comes at the moment.";
  if (view.tokens.length || hasText) return "The model is writing.";
  return view.started ? "The model is reading the prompt." : "The server is preparing the request.";
}
