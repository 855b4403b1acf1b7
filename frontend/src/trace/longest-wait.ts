/** The longest wait for an answer's first token. */
import { SCENES, type SceneId } from "./scenes";
import type { TraceView } from "./view";

export interface Wait {
  scene: SceneId;
  title: string;
  /** µs. */
  spent: number;
}

/** The stretch between two recorded moments that took longest before the first token. */
export function longestWait(view: TraceView): Wait | null {
  const moments = momentsOf(view);
  let from = 0;
  let found: Wait | null = null;
  for (const { scene, at } of moments) {
    const spent = at - from;
    if (spent > (found?.spent ?? 0))
      found = { scene, title: SCENES.find(({ id }) => id === scene)!.title, spent };
    from = Math.max(from, at);
  }
  return found;
}

/** When each scene before the first token had ended, in order. */
function momentsOf({ gateway, context, prompt, inputCheck, started, tokens }: TraceView) {
  const known: [SceneId, number | undefined][] = [
    ["message", gateway?.at],
    ["window", context?.at],
    ["tokens", prompt?.at],
    ["check", inputCheck?.at],
    ["queue", started?.at],
    ["prefill", tokens[0]?.at],
  ];
  return known
    .flatMap(([scene, at]) => (at === undefined ? [] : [{ scene, at }]))
    .sort((a, b) => a.at - b.at);
}
